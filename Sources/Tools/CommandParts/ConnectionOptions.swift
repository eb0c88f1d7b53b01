package import Holdfast
package import HoldfastCommandKit
import HoldfastCore
import HoldfastPorts

/// The options of every command that connects to a server, and the values that they select.
package enum Connection {
  package static let server = Parameter.required(
    "server", .text("URL"), variable: "HOLDFAST_SERVER",
    "the backend: https://HOST[:PORT], or http:// to this machine")

  /// Returns the address given by `--server` or its environment variable.
  package static func address(_ call: Invocation) throws(CommandFailure) -> ServerAddress {
    try ServerAddress(
      call[server], option: call.source(of: server), allowsPlaintext: call[plaintext])
  }

  package static let token = Parameter.optional(
    "token", .text("TOKEN"), usual: "$HOLDFAST_TOKEN", isSecret: true,
    "the token, or @FILE to read it once from a file; prefer HOLDFAST_TOKEN or --token-file, since "
      + "process lists may show an argument for a moment and shells record it")
  package static let tokenFile = Parameter.optional(
    "token-file", .text("FILE"),
    "read the token from this file, and again when a new one is needed")
  package static let tokenCommand = Parameter.optional(
    "token-command", .text("COMMAND"),
    "run this command with /bin/sh to print the token, and again when a new one is needed; its "
      + "exit status 3 means that the user must sign in")
  package static let authorities = Parameter.optional(
    "ca", .text("FILE"), "trust the authorities in this PEM file in addition to the system's")
  package static let plaintext = Parameter.flag(
    "allow-plaintext",
    "allow unencrypted http:// and ws:// to other hosts (everyone on the network path can read it)")
  package static let proxy = Parameter.optional(
    "proxy", Format.proxy, usual: "$http_proxy and related variables", isSecret: true,
    "connect through this proxy; never used for this machine (localhost, 127.0.0.0/8 and ::1)")
  package static let policyFile = Parameter.optional(
    "policy", .text("FILE"), "read the policy from this file; `policy check` validates it")

  /// The paragraph that explains tokens in help texts.
  package static let tokenDetails = """
    Only processes of the same user can read HOLDFAST_TOKEN. The value of --token is removed from \
    process lists as soon as the program starts. If the server rejects a token, the command ends \
    with status 3 unless --token-file or --token-command can provide a new one.
    """

  /// Returns the network that the options select. Prints a diagnostic if `--proxy` does not apply.
  package static func network(
    _ call: Invocation, to address: ServerAddress
  ) throws(CommandFailure) -> any SocketDialer & HTTPClient {
    if let problem = HoldfastPlatform.problem(ofURL: address.url) {
      throw CommandFailure(.usage, "the URL of the server is not valid", remedy: problem)
    }
    let path = call[authorities]
    if let path { try CertificateFile.check(path, option: "--ca") }
    if call[proxy] != nil, address.isLoopback {
      call.diagnostic("--proxy is not used: \(address.host) is this machine")
    }
    do throws(LinkFailure) {
      return try HoldfastPlatform.network(
        authorities: path, proxy: call[proxy], allowsPlaintext: call[plaintext])
    } catch {
      throw CommandFailure(.failed, "the network cannot be set up: \(error)")
    }
  }

  /// Returns the preset with the changes given by `--policy` and `--set`.
  package static func policy(
    _ call: Invocation, preset: LinkPolicy
  ) throws(CommandFailure) -> LinkPolicy {
    var policy = preset
    if let path = call[policyFile] {
      let draft = try PolicyFile.read(path)
      guard draft.preset.name == preset.name else {
        throw CommandFailure(
          .usage, "\(draft.name) is a policy for \(draft.preset.name)",
          remedy: "`\(call.command)` needs one for \(preset.name)")
      }
      policy = try draft.policy()
    }
    return try policy.with(call[Shared.settings])
  }

  /// Returns the tokens that the options select; `nil` if there are none.
  ///
  /// - Parameters:
  ///   - first: The time limit for reading the first token from a pipe.
  ///   - later: The time limit for each later token, and for the token command.
  package static func tokens(
    _ call: Invocation, first: Duration, later: Duration
  ) throws(CommandFailure) -> CommandTokens? {
    guard [call[token], call[tokenFile], call[tokenCommand]].count(where: { $0 != nil }) < 2 else {
      throw CommandFailure(
        .usage, "only one of --token, --token-file and --token-command can be given",
        remedy: "remove the others")
    }
    if let tokens = commandTokens(call, limit: later) { return tokens }
    if let path = call[tokenFile] {
      let token = try TokenText.read(path, within: first)
      guard path != "-" else { return .fixed(token) }
      return .file(FileTokens(path: path, first: token, limit: later, note: call.diagnostic))
    }
    guard let text = call[token] ?? call.environment("HOLDFAST_TOKEN"), !text.isEmpty else {
      return nil
    }
    if text.hasPrefix("@") {
      return .fixed(try TokenText.read(String(text.dropFirst()), within: first))
    }
    guard let clean = TokenText.clean(text) else { throw TokenText.invalid("the token") }
    return .fixed(clean)
  }

  /// Returns the tokens of `--token-command`; `nil` if the option is not given.
  ///
  /// - Parameter limit: The time limit of each run of the command.
  package static func commandTokens(_ call: Invocation, limit: Duration) -> CommandTokens? {
    call[tokenCommand].map {
      CommandTokens.shell(ShellTokens(command: $0, limit: limit, note: call.diagnostic))
    }
  }
}

extension Format<String> {
  /// The format for the URL of a proxy in the syntax of libcurl:
  /// `[SCHEME://][USER:PASSWORD@]HOST[:PORT]`.
  fileprivate static let proxy = Format(
    placeholder: "URL",
    expectation:
      "[SCHEME://][USER:PASSWORD@]HOST[:PORT] such as http://proxy.example:3128, with the "
      + "scheme http, https, socks4, socks4a, socks5 or socks5h, and a port from 1 to 65535"
  ) { text in
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    guard parts.count == 1 || schemes.contains(parts[0].lowercased()), let rest = parts.last else {
      return nil
    }
    let server = rest.hasSuffix("/") ? rest.dropLast() : rest
    let authority = server.lastIndex(of: "@").map { server[server.index(after: $0)...] } ?? server
    return ServerAddress.isAuthority(authority) ? text : nil
  }
}

/// A file that contains a single secret.
package struct SecretFile: Sendable {
  /// The maximum size of the file. A secret needs far less.
  private static let maxBytes = 4_096

  private let path: String
  private let option: String
  private let name: String

  /// Creates a value for a file, and checks that the file contains a secret.
  ///
  /// - Parameters:
  ///   - option: The option that gives the path, for error messages.
  ///   - name: The name of the secret, for error messages.
  package init(_ path: String, option: String, _ name: String) throws(CommandFailure) {
    (self.path, self.option, self.name) = (path, option, name)
    _ = try read()
  }

  /// The file as a source for a link. Each call reads the file again.
  package var source: TokenSource {
    TokenSource {
      do throws(CommandFailure) {
        return try read()
      } catch {
        throw TokenFailure.unavailable(detail: error.line)
      }
    }
  }

  /// Returns the secret, which is the file's content without trailing line breaks.
  package func read() throws(CommandFailure) -> String {
    try TextFile.mustBeFile(path, option: option)
    var bytes = try TextFile.read(path, atMost: Self.maxBytes)[...]
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    guard !bytes.isEmpty else {
      throw CommandFailure(.failed, "\(path) is empty", remedy: "put the \(name) alone into it")
    }
    guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw CommandFailure(
        .failed, "\(path) does not contain a \(name) alone",
        remedy: "a \(name) is one word of visible ASCII characters, in the first line")
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
