/// A kind of day that a phone has; each draws plans of its own.
public enum Preset: String, Sendable, Hashable, Codable, CaseIterable {
  /// No way out for short times, again and again.
  case lift
  /// Handovers, dead zones, a narrow way, mappings that expire.
  case train
  /// A login page, then a slow network that loses much.
  case cafe
  /// Hours without a way out.
  case aeroplane
  case captivePortal
  /// The server restarts, drains, loses its epoch.
  case deploy
  /// Everything, with chances of its own for each seed.
  case swarm
}

extension Plan {
  /// The plan of a seed: at least an hour of trouble.
  public static func drawn(_ preset: Preset, seed: UInt64, server: ServerKind) -> Plan {
    Plan(seed: seed, server: server, weather: Weather(), actions: [], length: .seconds(3600))
  }
}
