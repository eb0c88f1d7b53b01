import Foundation
import Holdfast
import HoldfastCommandKit
import HoldfastCore
import HoldfastSession

/// The command `HoldfastBench fleet`, which runs many real clients of one server.
///
/// Each line of the output starts with the monotonic clock in nanoseconds and reports that a client
/// is `connected` or `lost`.
enum FleetCommand {
  private static let server = Parameter<String>.operand(.text("URL"), "the server's sessions")
  private static let key = Parameter<String>.required("key-file", .text("FILE"), "its key")
  private static let count = Parameter<Int>.option(
    "count", .integer("N", 1...100_000), default: 1_000, "how many clients")
  private static let settings = Parameter<[String]>.repeated(
    "set", .text("KEY=VALUE"), "change a number of the policy")

  static var command: Command {
    Command(
      "fleet", "keep many clients connected and tell when each came and went",
      examples: [
        .init("HoldfastBench fleet ws://127.0.0.1:8787/session --key-file K", "1,000 of them")
      ], takes: server, key, count, settings, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    Usage.raiseDescriptorLimit()
    do {
      let key = try String(contentsOfFile: call[key], encoding: .utf8)
      let network = try HoldfastPlatform.network(proxy: "", allowsPlaintext: true)
      let changes = call[settings].map { setting in
        let parts = setting.split(separator: "=", maxSplits: 1).map(String.init)
        return (key: parts.first ?? "", value: parts.last ?? "")
      }
      let policy = try LinkPolicy.session.setting(changes)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<call[count] {
          var configuration = SessionConfiguration(
            call[server], storage: .memory, tokens: .fixed(key))
          configuration.allowsPlaintext = true
          configuration.policy = policy
          configuration.ports = DevicePorts(network: network, reachability: AlwaysReachable())
          group.addTask { [configuration] in try await connect(configuration, call) }
        }
        try await group.waitForAll()
      }
    } catch {
      throw CommandFailure(.failed, "the fleet cannot start: \(error)")
    }
  }

  private static func connect(_ configuration: SessionConfiguration, _ call: Invocation)
    async throws
  {
    let session = try await HeldSession(configuration)
    var isConnected = false
    for await update in session.lastingUpdates {
      guard case .status(let status) = update, (status.phase == .connected) != isConnected
      else { continue }
      isConnected.toggle()
      call.report(isConnected ? "connected" : "lost")
    }
  }
}
