#if os(Linux)
  /// What waits for a peripheral while this program does nothing.
  public enum BlueZStandby: String, Sendable, Hashable, CaseIterable {
    /// BlueZ connects by itself, since an application of this program has a GattProfile1.
    case autoConnect = "auto-connect"
    /// The controller watches for advertisements (AdvertisementMonitor1); this program connects.
    case monitor = "advertisement-monitor"
    /// This program scans for 5 s every 30 s.
    case pacedScan = "paced-scan"

    /// How long one scan of a standby is.
    static let window = Duration.seconds(5)

    /// The time between the begins of two scans: beside the other two, they find what those miss.
    var interval: Duration {
      switch self {
      case .autoConnect, .monitor: .seconds(300)
      case .pacedScan: .seconds(30)
      }
    }

    /// The best one for a peripheral.
    static func best(_ facts: StandbyFacts) -> BlueZStandby {
      if facts.hasProfile, facts.isKept, !facts.addressChanges { return .autoConnect }
      return facts.hasMonitor ? .monitor : .pacedScan
    }
  }

  /// What decides which standby serves a peripheral.
  struct StandbyFacts: Sendable, Hashable {
    /// Whether BlueZ took the application with a GattProfile1.
    var hasProfile: Bool
    /// Whether BlueZ keeps the device: it is paired, or trusted.
    var isKept: Bool
    /// Whether the device has an address that changes; the controller cannot wait for it.
    var addressChanges: Bool
    /// Whether the controller takes an advertisement monitor.
    var hasMonitor: Bool
  }
#endif
