import Holdfast
import HoldfastCommandKit
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream

/// The command `HoldfastBench follow`, which runs an app's stream in a separate process.
///
/// Each line of the output starts with the monotonic clock in nanoseconds, which all processes of a
/// machine share.
enum FollowCommand {
  private static let server = Parameter<String>.operand(.text("URL"), "the server")
  private static let token = Parameter<String>.option(
    "token", .text("TOKEN"), default: "bench", "what the server asks for")
  private static let shop = Parameter<String>.option(
    "shop", .text("SHOP"), default: "bench", "whose messages are wanted")
  private static let authorities = Parameter<String?>.optional(
    "authorities", .text("FILE"), "a PEM file of authorities to trust")
  private static let data = Parameter<String?>.optional(
    "data", .text("DIR"), "where messages are kept; in memory without it")
  private static let settings = Parameter<[String]>.repeated(
    "set", .text("KEY=VALUE"), "change a number of the policy")

  static var command: Command {
    Command(
      "follow", "follow a shop and tell when each thing happened",
      examples: [.init("HoldfastBench follow http://127.0.0.1:8787 --token T", "one shop")],
      takes: server, token, shop, authorities, data, settings, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    do {
      let stream = try await open(call)
      for await update in stream.lastingUpdates {
        for line in lines(update) { call.report(line) }
      }
    } catch {
      throw CommandFailure(.failed, "cannot follow: \(error)")
    }
  }

  private static func open(_ call: Invocation) async throws -> ShopStream {
    guard let shop = ShopID(call[shop]) else { throw Unavailable("no shop has such an id") }
    let changes = call[settings].map { setting in
      let parts = setting.split(separator: "=", maxSplits: 1).map(String.init)
      return (key: parts.first ?? "", value: parts.last ?? "")
    }
    let network = try HoldfastPlatform.network(
      authorities: call[authorities], proxy: "", allowsPlaintext: true)
    let streams = try await ShopStreams(
      storage: call[data].map { .directory($0) } ?? .memory, tokens: .fixed(call[token]),
      ports: DevicePorts(network: network))
    var configuration = StreamConfiguration(
      server: call[server], shop: shop, policy: try LinkPolicy.messageStream.setting(changes))
    configuration.allowsPlaintext = true
    return try await streams.open(configuration)
  }

  private static func lines(_ update: StreamUpdate) -> [String] {
    switch update {
    case .status(let status):
      ["status \(status.state.rawValue) \(status.reason.map(label) ?? "-")"]
    case .messages(let messages, via: let way):
      messages.map { "message \(way.rawValue) \($0.text)" }
    case .notice(.security(let failure)): ["security \(label(failure))"]
    case .edited, .deleted, .gap, .gapClosed, .outbox, .outboxDone, .history, .notice: []
    }
  }

  private static func label(_ reason: LinkStatus.Reason) -> String {
    switch reason {
    case .failure(let failure), .exhausted(let failure): label(failure)
    case .blocked, .signIn, .ended, .debouncing, .limited: "other"
    }
  }

  /// Returns the class of a failure, followed by the cause if it is a TLS failure.
  private static func label(_ failure: LinkFailure) -> String {
    guard case .tls(let reason, _) = failure else { return failure.failureClass.rawValue }
    return "tls.\(reason.rawValue)"
  }
}
