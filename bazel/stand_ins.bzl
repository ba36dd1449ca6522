"""Stand-ins for the repositories that Bazel 4 would fetch, so that it works without a network.

Its own tools load their C++ and Java rules from `rules_cc` and `rules_java`, and each test mentions
`remote_coverage_tools`. All of these rules, and the Python ones, are still built into Bazel 4.
"""

_CC_RULES = [
    "cc_binary",
    "cc_import",
    "cc_library",
    "cc_proto_library",
    "cc_test",
    "cc_toolchain",
    "cc_toolchain_suite",
    "objc_library",
]

_JAVA_RULES = [
    "java_binary",
    "java_import",
    "java_library",
    "java_proto_library",
    "java_runtime",
    "java_toolchain",
]

_PYTHON_RULES = [
    "py_binary",
    "py_library",
    "py_test",
]

_COVERAGE_BUILD = """
package(default_visibility = ["//visibility:public"])

filegroup(name = "coverage_report_generator")

filegroup(name = "lcov_merger")
"""

def _stand_in_impl(repository_ctx):
    for path, content in repository_ctx.attr.files.items():
        repository_ctx.file(path, content)

_stand_in = repository_rule(
    implementation = _stand_in_impl,
    attrs = {"files": attr.string_dict(mandatory = True)},
)

def _native_rules(name, folder, rules):
    _stand_in(
        name = name,
        files = {
            folder + "/BUILD": "",
            folder + "/defs.bzl": "".join(["%s = native.%s\n" % (rule, rule) for rule in rules]),
        },
    )

def stand_ins():
    _native_rules("rules_cc", "cc", _CC_RULES)
    _native_rules("rules_java", "java", _JAVA_RULES)
    _native_rules("rules_python", "python", _PYTHON_RULES)
    _stand_in(name = "remote_coverage_tools", files = {"BUILD": _COVERAGE_BUILD})
