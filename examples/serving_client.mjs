// A client in JavaScript, over REST, with nothing but what Node 18 or later has.
//
//   keras-stackrnn serve --model_name=anbn --model_base_path=DIR --rest_api_port=8501 &
//   node examples/serving_client.mjs http://127.0.0.1:8501 anbn aaab

const [address = "http://127.0.0.1:8501", model = "anbn", text = "aaab"] = process.argv.slice(2);

async function ask(path, body) {
  const response = await fetch(`${address}/v1/models/${model}${path}`, {
    method: body ? "POST" : "GET",
    headers: { "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

const status = await ask("");
console.log(`${model}, version ${status.model_version_status[0].version}`);

const { outputs } = await ask(":predict", {
  signature_name: "predict_text",
  inputs: { text: [text] },
});
outputs.top_symbols[0].forEach((symbol, place) => {
  console.log(`${text} ${symbol}  ${(100 * outputs.top_probabilities[0][place]).toFixed(1)}%`);
});
