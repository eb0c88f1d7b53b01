import CommandKit
import Holdfast
import LinkCore
import LinkRuntime
import LinkWire

/// How `stream` and `send` reach a shop: the options they share, and what these make.
struct StreamConnection {
  static let server = Parameter.required(
    "server", .text("URL"), "the backend, as https://HOST[:PORT], or http:// to this device")
  static let shop = Parameter.required("shop", Format.shop, "the shop")
  static let token = Parameter.optional(
    "token", .text("TOKEN"), usual: "$HOLDFAST_TOKEN",
    "the token, or @FILE to read it once from a file; better in HOLDFAST_TOKEN or --token-file: "
      + "process lists may show it for a moment, and shells keep it")
  static let tokenFile = Parameter.optional(
    "token-file", .text("FILE"), "read the token here, and again when a new one is needed")
  static let tokenCommand = Parameter.optional(
    "token-command", .text("COMMAND"),
    "what /bin/sh runs to print the token, and again when a new one is needed; status 3 says that "
      + "the user must sign in")
  static let auth = Parameter.option(
    "auth", Format.authentication, default: .header, "where the token goes in a request")
  static let authorities = Parameter.optional(
    "ca", .text("FILE"), "a PEM file of authorities that are trusted beside the system's")
  static let plaintext = Parameter.flag(
    "allow-plaintext", "let http:// leave this device, for everybody on the way to read")
  static let proxy = Parameter.optional(
    "proxy", .text("URL"), usual: "as http_proxy and its like say", "go through this proxy")
  static let policyFile = Parameter.optional(
    "policy", .text("FILE"), "take the policy from this file; `policy check` checks it")

  /// What every help text of theirs says about tokens.
  static let details = """
    HOLDFAST_TOKEN can be read by the same user only; --token is hidden from process lists as \
    soon as the program runs. Without --token-file or \
    --token-command a token that the server refuses ends the command with 3.
    """

  var configuration: StreamConfiguration
  var tokens: any TokenSource
  var network: any SocketDialer & HTTPClient
  var host: String

  /// Reads the options; refuses what cannot work before anything is opened.
  ///
  /// - Parameter limit: how long a pipe with a token may take, if less than a renewal may.
  init(
    _ call: Invocation, named command: String, within limit: Duration = .seconds(86_400)
  ) throws(CommandFailure) {
    let address = try ServerAddress(call[Self.server], allowsPlaintext: call[Self.plaintext])
    let policy = try Self.policy(call)
    host = address.host
    configuration = StreamConfiguration(
      server: address.url, shop: call[Self.shop], policy: policy, authentication: call[Self.auth])
    let times = (first: min(limit, policy.gate.refreshTimeout), later: policy.gate.refreshTimeout)
    tokens = try Self.tokens(call, within: times, for: command)
    network = try Self.network(call)
  }

  /// The network as the options want it.
  static func network(
    _ call: Invocation
  ) throws(CommandFailure) -> any SocketDialer & HTTPClient {
    do throws(LinkFailure) {
      return try Platform.network(
        authorities: try readable(call[authorities]), proxy: call[proxy],
        allowsPlaintext: call[plaintext])
    } catch {
      throw CommandFailure(.failed, "no connection can be made: \(StreamReason.text(error))")
    }
  }

  func environment(
    store: any TimelineStore, lifecycle: any LifecycleMonitor
  ) -> StreamEnvironment {
    StreamEnvironment(
      network: network, store: store, reachability: Platform.reachability(of: host),
      lifecycle: lifecycle, tokens: tokens)
  }

  /// Why the command ends, when a token command that gave up is told from a server that refused.
  func told(_ failure: CommandFailure) async -> CommandFailure {
    guard failure == StreamEnding.signIn, let command = tokens as? ShellTokens,
      await command.asksForSignIn
    else { return failure }
    return CommandFailure(
      .signInNeeded, "the token command says that the user must sign in (status 3)",
      remedy: "sign in again")
  }

  private static func policy(_ call: Invocation) throws(CommandFailure) -> LinkPolicy {
    var policy = LinkPolicy.messageStream
    if let path = call[policyFile] {
      let draft = try PolicyFile.read(path)
      guard draft.preset.name == policy.name else {
        throw CommandFailure(
          .usage, "\(draft.name) is a policy of \(draft.preset.name)",
          remedy: "a stream goes by \(policy.name)")
      }
      do {
        policy = try policy.setting(draft.changes().map { ($0.key, $0.new) })
      } catch {
        throw CommandFailure(
          .usage, "\(draft.name): " + error.problems.joined(separator: "; "))
      }
    }
    return try policy.with(call[Shared.settings])
  }

  private static func tokens(
    _ call: Invocation, within times: (first: Duration, later: Duration), for command: String
  ) throws(CommandFailure) -> any TokenSource {
    let given = [call[token], call[tokenFile], call[tokenCommand]].compactMap(\.self)
    guard given.count < 2 else {
      throw CommandFailure(
        .usage, "only one of --token, --token-file and --token-command can be given",
        remedy: "leave the others out")
    }
    let console = call.console
    let note: @Sendable (String) -> Void = { console.diagnostic("\(command): \($0)") }
    if let line = call[tokenCommand] {
      return ShellTokens(command: line, limit: times.later, note: note)
    }
    if let path = call[tokenFile] {
      let first = try StreamToken.read(path, within: times.first)
      guard path != "-" else { return FixedToken(first) }
      return FileTokens(path: path, first: first, limit: times.later, note: note)
    }
    guard let text = call[token] ?? call.environment("HOLDFAST_TOKEN"), !text.isEmpty else {
      throw CommandFailure(
        .signInNeeded, "there is no token",
        remedy: "set HOLDFAST_TOKEN, or add --token-file FILE; `holdfast token` makes one")
    }
    if text.hasPrefix("@") {
      return FixedToken(try StreamToken.read(String(text.dropFirst()), within: times.first))
    }
    guard let clean = StreamToken.clean(text) else { throw StreamToken.unfit("the token") }
    return FixedToken(clean)
  }

  private static func readable(_ path: String?) throws(LinkFailure) -> String? {
    guard let path else { return nil }
    do throws(CommandFailure) {
      _ = try TextFile.read(path)
    } catch {
      throw .local(detail: error.line)
    }
    return path
  }
}

/// A server's URL, checked and taken apart as far as the command must know it.
struct ServerAddress: Equatable {
  var url: String
  var host: String

  /// - Throws: wrong usage, in words that repeat no credentials.
  init(_ text: String, allowsPlaintext: Bool) throws(CommandFailure) {
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = parts[0].lowercased()
    guard parts.count == 2, scheme == "https" || scheme == "http" else {
      throw Self.fault("it must begin with https:// or http://")
    }
    guard !parts[1].contains(where: { "?#@ ".contains($0) }) else {
      throw Self.fault("it may hold neither a user nor a query; tokens go elsewhere")
    }
    let authority = parts[1].prefix { $0 != "/" }
    let host =
      authority.first == "["
      ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
    guard !host.isEmpty else { throw Self.fault("it names no host") }
    let rest = authority.dropFirst(host.count + (authority.first == "[" ? 2 : 0))
    guard rest.isEmpty || Self.isPort(rest) else {
      throw Self.fault("its port must be a number from 1 to 65535")
    }
    self.host = String(host)
    url = "\(scheme)://\(parts[1])"
    guard scheme == "https" || allowsPlaintext || Self.isLoopback(host.lowercased()) else {
      throw CommandFailure(
        .usage, "http:// to \(host) would let everybody on the way read the token",
        remedy: "use https://, or add --allow-plaintext")
    }
  }

  private static func isPort(_ rest: Substring) -> Bool {
    guard rest.first == ":", rest.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }) else {
      return false
    }
    return UInt16(rest.dropFirst()).map { $0 > 0 } ?? false
  }

  private static func isLoopback(_ host: String) -> Bool {
    let isFour = host.hasPrefix("127.") && host.allSatisfy { $0 == "." || $0.isNumber }
    return host == "localhost" || host == "::1" || isFour
  }

  private static func fault(_ remedy: String) -> CommandFailure {
    CommandFailure(.usage, "--server cannot be used as it is", remedy: remedy)
  }
}

extension Format<StreamConfiguration.Authentication> {
  /// Where the token goes.
  fileprivate static let authentication = {
    let words = StreamConfiguration.Authentication.allCases.map(\.rawValue)
    return Format(
      placeholder: words.joined(separator: "|"),
      expectation: words.joined(separator: " or "), words: words
    ) {
      StreamConfiguration.Authentication(rawValue: $0)
    } write: {
      $0.rawValue
    }
  }()
}
