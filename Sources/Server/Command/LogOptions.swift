import Glibc
import HoldfastBackend
import HoldfastCommandKit

/// The options of `serve` for its log.
enum LogOptions {
  static let all: [Assignment<BackendConfiguration>] = [
    .init(
      .optional(
        "log-format", Format<LogFormat>.choice, usual: "text on a terminal, json otherwise",
        "the form of the log on standard error")
    ) { $0.logFormat = $1 ?? (isTerminal ? .text : .json) },
    .init(
      .option(
        "log-level", Format<LogLevel>.choice, default: .info,
        "the least important events to log; info has the requests that failed, debug every request")
    ) { $0.logLevel = $1 },
    .init(
      .option(
        "log-addresses", Format<LogAddresses>.choice, default: .prefix,
        "how to log the addresses of clients; prefix keeps 24 bits of IPv4 and 48 of IPv6")
    ) { $0.logAddresses = $1 },
    .init(
      .optional(
        "log-sample", .sample, usual: "none at info, all at debug",
        "log this share of the requests with a status below 400 at info, chosen by chance, with the "
          + "share in the member sample; 1 logs all of them")
    ) { $0.logSample = $1 },
  ]

  private static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Sets the sink of the log.
  static func open(_ configuration: inout BackendConfiguration, on console: Console) {
    // This clears a line that another program, such as `stream`, may show at the cursor. `stream`
    // draws it again.
    let start = isTerminal ? Terminal.eraseLine : ""
    configuration.log = { console.diagnostic(start + $0) }
  }
}

extension Format<LogSample> {
  /// The format for a share of the requests.
  fileprivate static let sample = Format(
    placeholder: "RATE", expectation: "a number from 0 to 1, such as 0.01"
  ) {
    Double($0).flatMap { LogSample($0) }
  } write: {
    "\($0.rate)"
  }
}
