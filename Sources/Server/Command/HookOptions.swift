import HoldfastAssistants
import HoldfastBackend
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastMessageServer

/// The options of `serve` for the requests to the operator's own backend.
enum HookOptions {
  private static let usual = HookPolicy()

  static let all: [Assignment<BackendConfiguration>] = [
    .init(
      .optional(
        "hook-url", .outgoingURL("http://127.0.0.1:9000/holdfast"),
        "ask the operator's backend at this URL before a socket opens and before a post or an edit "
          + "is stored, and tell it of the end of sockets; each is a POST with a JSON body")
    ) { $0.hooks.url = $1 },
    .init(
      .option(
        "hook-events", Format<HookEvent>.choice("EVENT").list(), default: HookEvent.allCases,
        "the events that the backend of --hook-url is asked about or told")
    ) { $0.hooks.policy.events = Set($1) },
    .init(
      .option(
        "hook-timeout", .duration(HookPolicy.timeouts), default: usual.timeout,
        "the time limit of a request to --hook-url")
    ) { $0.hooks.policy.timeout = $1 },
    .init(
      .option(
        "hook-on-failure", Format<HookPolicy.Failure>.choice, default: usual.onFailure,
        "what happens if --hook-url gives no answer: closed refuses with 503, so that clients try "
          + "again; open lets sockets and posts pass without a decision")
    ) { $0.hooks.policy.onFailure = $1 },
    .init(
      .optional(
        "hook-secret-file", .text("FILE"), usual: "no signatures",
        "sign each request to --hook-url with the secret in this file, of at least "
          + "\(HookConfiguration.leastSecretBytes) bytes; its mode must be 600")
    ) { $0.hooks.secretFile = $1 },
    .init(
      .optional(
        "hook-ca", .text("FILE"), "also trust the authority in this PEM file for --hook-url")
    ) { $0.hooks.authorities = $1 },
  ]

  /// Checks the options together.
  ///
  /// - Throws: A usage error if another option is given without the URL.
  static func check(_ configuration: BackendConfiguration) throws(CommandFailure) {
    if let path = configuration.hooks.authorities {
      try CertificateFile.check(path, option: "--hook-ca")
    }
    guard configuration.hooks.url == nil, configuration.hooks != HookConfiguration() else { return }
    throw CommandFailure(
      .usage, "the options for hooks need the URL of the operator's backend",
      remedy: "add --hook-url, or leave the others out")
  }
}

extension Format<String> {
  /// Returns the format for the URL of a server to which the backend sends requests.
  static func outgoingURL(_ example: String) -> Format {
    Format(
      placeholder: "URL",
      expectation: "an https URL without user and fragment, or http on this machine, such as "
        + example
    ) {
      OutgoingURL.isValid($0) ? $0 : nil
    }
  }
}
