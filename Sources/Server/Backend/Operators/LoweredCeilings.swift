import HoldfastMessageServer
import HoldfastRelayServer
public import HoldfastServerParts
import HoldfastSessionServer

extension BackendConfiguration {
  /// Lowers maximums of sockets, in proportion, to what the limit on descriptors allows.
  ///
  /// The maximums stay as they are if the descriptors suffice, if their number is unlimited, or if it
  /// is too small; see `DescriptorLimit`.
  ///
  /// - Parameter ceilings: Those of `.streams`, `.phones` and `.sessions` that may be lowered, such as
  ///   those that nobody has chosen.
  public mutating func lowerCeilings(_ ceilings: Set<Ceiling>) {
    let all: [(Ceiling, WritableKeyPath<BackendConfiguration, Int>)] = [
      (.streams, \.policy.maxConnections), (.phones, \.relay.maxSockets),
      (.sessions, \.session.maxSockets),
    ]
    let paths = all.filter { ceilings.contains($0.0) }.map(\.1)
    guard let limit = descriptorLimit,
      let lowered = DescriptorLimit(limit: Int(clamping: limit), sockets: maxSockets)
        .lowered(paths.map { self[keyPath: $0] })
    else { return }
    for (path, maximum) in zip(paths, lowered) { self[keyPath: path] = maximum }
    hasLoweredCeilings = true
  }

  /// The sentence about lowered maximums for the log; `nil` if none was lowered.
  var loweredCeilings: String? {
    guard hasLoweredCeilings, let descriptorLimit else { return nil }
    return
      "the limit on open descriptors is \(descriptorLimit), which allows \(policy.maxConnections) "
      + "streams, \(relay.maxSockets) phones and \(session.maxSockets) sessions"
  }
}
