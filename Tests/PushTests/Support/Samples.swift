import HoldfastCore
import HoldfastFeaturePorts
import HoldfastRelayData

extension Push {
  /// Returns a push to an Apple device. It expires 0.9 s after a full second.
  static func apns(_ token: String = "00ff", topic: String? = nil) -> Push {
    guard let address = APNsAddress(token: token, topic: topic) else {
      preconditionFailure("a sample address is one")
    }
    return Push(
      address: .apns(address), expiresAt: Timestamp(nanoseconds: 1_700_000_045_900_000_000),
      collapseID: "phone-1")
  }

  /// Returns a push to a hook.
  static func hook(_ address: String = "ring") -> Push {
    Push(
      address: .hook(address), expiresAt: Timestamp(nanoseconds: 1_700_000_045_000_000_000),
      collapseID: "phone-1")
  }
}
