#if os(Linux)
  /// A mechanism that waits for a peripheral while this program is idle.
  public enum BlueZStandby: String, Sendable, Hashable, CaseIterable {
    /// BlueZ connects by itself, because this program's application contains a GattProfile1.
    case autoConnect = "auto-connect"
    /// The controller watches for advertisements (AdvertisementMonitor1), and this program then
    /// connects.
    case monitor = "advertisement-monitor"
    /// This program scans for 5 s every 30 s.
    case pacedScan = "paced-scan"

    /// The duration of one scan of a standby.
    static let window = Duration.seconds(5)

    /// The time between the starts of two scans. The other two mechanisms also scan, so that they
    /// find peripherals that they would miss.
    var interval: Duration {
      switch self {
      case .autoConnect, .monitor: .seconds(300)
      case .pacedScan: .seconds(30)
      }
    }

    /// Returns the best standby for a peripheral.
    static func best(_ facts: StandbyFacts) -> BlueZStandby {
      if facts.hasProfile, facts.isStored, !facts.addressChanges { return .autoConnect }
      return facts.hasMonitor ? .monitor : .pacedScan
    }
  }

  /// The facts that determine which standby serves a peripheral.
  struct StandbyFacts: Sendable, Hashable {
    /// Whether BlueZ has accepted the application with a GattProfile1.
    var hasProfile: Bool
    /// Whether BlueZ stores the device, which is the case if the device is paired or trusted.
    var isStored: Bool
    /// Whether the device's address changes, so that the controller cannot wait for it.
    var addressChanges: Bool
    /// Whether the controller accepts an advertisement monitor.
    var hasMonitor: Bool
  }
#endif
