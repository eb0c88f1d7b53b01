import HoldfastBackend
import HoldfastCommandKit
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer

/// The options of `serve` for shop messages.
enum MessageOptions {
  private static let usual = ShopServerPolicy()

  static let all: [Assignment<BackendConfiguration>] = [
    .init(
      .option(
        "ping-interval", .duration(.milliseconds(10) ... .seconds(3600)),
        default: usual.pingInterval, "the time between pings on an open socket")
    ) { $0.policy.pingInterval = $1 },
    .init(
      .option(
        "pong-timeout", .duration(.milliseconds(20) ... .seconds(7200)), default: usual.pongWait,
        "close a socket that has received nothing for this long; must be longer than the ping "
          + "interval")
    ) { $0.policy.pongWait = $1 },
    // The upper bound is the maximum size of a request body.
    .init(
      .option(
        "max-message-bytes", .integer("N", 1_024...65_536), default: usual.limits.maxFrameBytes,
        "the maximum size of a message frame, in bytes")
    ) { $0.policy.limits.maxFrameBytes = $1 },
    .init(
      .option(
        "posts-per-second", .integer("N", 1...1_000), default: 20,
        "the most posts, edits and deletions per second of a user, with bursts of twice as many")
    ) {
      $0.policy.postInterval = .seconds(1) / $1
      $0.policy.postBurst = $1 * 2
    },
    .init(
      .optional(
        "edit-window", .duration(.seconds(1) ... .seconds(366 * 86_400)), usual: "no limit",
        "how long after its creation a message may be edited")
    ) { $0.policy.editWindow = $1 },
    .init(
      .flag(
        "new-epoch",
        "start a new epoch over the same messages and health samples: use it once after restoring "
          + "a backup, so that clients with newer messages catch up, and phones send what they hold "
          + "again"
      ).commandLineOnly()
    ) { $0.beginsNewEpoch = $1 },
    .init(
      .flag("plain", "act as a server without positions, heads, idempotency keys or events")
    ) { $0.policy.dialect = $1 ? .plain : .positions },
    .init(
      .flag("no-stream", "reject every socket with status 503, so that clients must poll")
    ) { $0.policy.offersStream = !$1 },
  ]

  /// Checks values that depend on each other.
  static func check(_ configuration: BackendConfiguration) throws(CommandFailure) {
    guard configuration.policy.pongWait > configuration.policy.pingInterval else {
      throw CommandFailure(
        .usage, "--pong-timeout must be longer than --ping-interval",
        remedy: "otherwise every socket is closed before its first ping")
    }
  }
}
