import HoldfastBackend
import HoldfastCommandKit
import HoldfastCore
import HoldfastSessionServer

/// The options of `serve` for sessions.
enum SessionOptions {
  private static let usual = BackendConfiguration(dataDirectory: "").session

  static let all: [Assignment<BackendConfiguration>] = [
    .init(
      .option(
        "session-timeout", .duration(.milliseconds(1) ... .seconds(86_400)),
        default: usual.turnLimit,
        "end the program of a prompt after this time; its response is then a failure")
    ) { $0.session.turnLimit = $1 },
    .init(
      .option(
        "session-max-response", .integer("BYTES", 1...4_194_304),
        default: usual.maxResponseBytes,
        "end the program of a prompt that writes more; its response is then a failure")
    ) { $0.session.maxResponseBytes = $1 },
    .init(
      .option(
        "session-handlers", .integer("N", 1...1_000), default: usual.maxRunning,
        "run at most this many programs of prompts at once; further prompts wait")
    ) { $0.session.maxRunning = $1 },
  ]

  static let keyFile = Parameter.optional(
    "session-key-file", .text("FILE"), usual: "session-key in the data directory",
    "the file with the key that session clients present, such as holdfast- and 32 lowercase "
      + "hexadecimal digits; created with mode 600 if it is missing")
  static let handler = Parameter.optional(
    "session-handler", .text("CMD"), usual: "each response is the text of its prompt",
    "answer each prompt of a session with the standard output of this shell command, which "
      + "receives the prompt on its standard input")

  /// Stores the values of the options that have no default.
  static func read(_ call: Invocation, into configuration: inout BackendConfiguration) {
    configuration.sessionKeyFile = call[keyFile]
    configuration.sessionHandler = call[handler]
  }
}
