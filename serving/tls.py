"""TLS from TensorFlow Serving's SSLConfig, which holds keys and certificates as text."""

import os
import ssl
import tempfile

import grpc

from keras_stackrnn.serving import config


def grpc_credentials(ssl_config: config.SSLConfig) -> grpc.ServerCredentials:
    return grpc.ssl_server_credentials(
        [(ssl_config.server_key.encode(), ssl_config.server_cert.encode())],
        root_certificates=ssl_config.custom_ca.encode() or None,
        require_client_auth=ssl_config.client_verify,
    )


def http_context(ssl_config: config.SSLConfig) -> ssl.SSLContext:
    """The same for HTTP; ValueError if a key or certificate is broken."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # Python reads a key from a file alone; this one is for nobody else, and gone at once.
        descriptor, path = tempfile.mkstemp(prefix="serving-", suffix=".pem")
        try:
            with open(descriptor, "w") as file:
                file.write(f"{ssl_config.server_key}\n{ssl_config.server_cert}\n")
            context.load_cert_chain(path)
        finally:
            os.unlink(path)
        if ssl_config.client_verify:
            context.verify_mode = ssl.CERT_REQUIRED
            if ssl_config.custom_ca:
                context.load_verify_locations(cadata=ssl_config.custom_ca)
    except ssl.SSLError as error:
        raise ValueError(f"The SSLConfig for REST is broken: {error.reason or error}.") from error
    return context
