import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastPorts

/// The connection of `stream` or `send` to a shop, as the options select it.
///
/// The options declared here are shared only by these two commands.
struct StreamConnection {
  static let shop = Parameter.required(
    "shop", Format.shop, variable: "HOLDFAST_SHOP", "the shop's id")
  static let auth = Parameter.option(
    "auth", Format<StreamConfiguration.Authentication>.choice, default: .header,
    "where requests carry the token")

  var configuration: StreamConfiguration
  private let tokens: CommandTokens
  private let network: any SocketDialer & HTTPClient
  private let reachability: (any ReachabilityMonitor)?

  /// Creates the connection that the options select. The options are checked before anything is
  /// opened.
  ///
  /// - Parameters:
  ///   - shop: The shop of the configuration.
  ///   - limit: The time limit for reading the first token from a pipe. It applies if it is shorter
  ///     than the policy's time limit for a new token.
  init(
    _ call: Invocation, shop: ShopID, within limit: Duration = .seconds(86_400)
  ) throws(CommandFailure) {
    let address = try Connection.address(call)
    let policy = try Connection.policy(call, preset: .messageStream)
    configuration = StreamConfiguration(
      server: address.url, shop: shop, policy: policy, authentication: call[Self.auth])
    configuration.allowsPlaintext = call[Connection.plaintext]
    let later = policy.gate.refreshTimeout
    guard let tokens = try Connection.tokens(call, first: min(limit, later), later: later) else {
      throw CommandFailure(
        .signInNeeded, "there is no token",
        remedy: "set HOLDFAST_TOKEN, or add --token-file FILE; `holdfast token` creates one")
    }
    self.tokens = tokens
    network = try Connection.network(call, to: address)
    reachability = PathPipe.named(by: call)
  }

  /// Returns the streams of a store, which stays open when they are closed.
  func streams(
    in store: any TimelineStore, lifecycle: any LifecycleMonitor = AlwaysForeground()
  ) async throws(CommandFailure) -> ShopStreams {
    try await CommandFailure.opening { () throws(OpenError) in
      try await ShopStreams(
        storage: .store(store), tokens: tokens.source,
        ports: DevicePorts(network: network, reachability: reachability, lifecycle: lifecycle))
    }
  }

  /// Returns the stream of the configuration, with a store that stays open when it is closed.
  func stream(in store: any TimelineStore) async throws(CommandFailure) -> ShopStream {
    let streams = try await streams(in: store)
    do {
      return try await streams.open(configuration)
    } catch {
      throw CommandFailure(.failed, error.description)
    }
  }

  /// Returns the failure to report instead of a failure of the stream.
  func reported(_ failure: CommandFailure) async -> CommandFailure {
    await failure.explained(by: tokens)
  }
}
