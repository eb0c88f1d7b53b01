import LinkCore
import LinkServerCore

/// Addresses that gave wrong pairs and have to wait, told a second time (decision 0030).
struct RelayHouseLock: Sendable {
  /// An address, or a network of addresses, that gave wrong pairs.
  struct Suspect: Sendable {
    let name: String
    /// When it gave them; of no meaning while it is locked out.
    var times: [Instant] = []
    var lockedUntil: Instant?
  }

  let numbers: RelayServerPolicy
  var suspects: [Suspect] = []
  /// When the wrong pairs of all would be what they may be.
  var level: Instant
  /// Until when strangers wait while no more can be watched.
  var crowdedUntil: Instant

  init(_ numbers: RelayServerPolicy, at now: Instant) {
    (self.numbers, level, crowdedUntil) = (numbers, now, now)
  }

  private func find(_ name: String) -> Int? { suspects.firstIndex { $0.name == name } }

  /// The names under which an address is watched: an IPv6 one also under its network.
  private static func network(_ address: String) -> String? {
    let letters = Array(address)
    guard letters.count == 16, letters.allSatisfy({ "0123456789abcdef".contains($0) }) else {
      return nil
    }
    return String(letters[..<12]) + "/48"
  }

  private func locked(_ name: String, _ now: Instant) -> Duration? {
    guard let place = find(name), let until = suspects[place].lockedUntil, now < until else {
      return nil
    }
    return now.duration(to: until)
  }

  /// How long an address waits before a pair of it is looked at.
  mutating func wait(_ address: String, _ now: Instant) -> Duration? {
    if let network = Self.network(address), let wait = locked(network, now) { return wait }
    if let wait = locked(address, now) { return wait }
    guard find(address) == nil else { return nil }
    makeRoom(now)
    let isFull = suspects.count >= numbers.maxWatchedAddresses
    return isFull && now < crowdedUntil ? now.duration(to: crowdedUntil) : nil
  }

  /// A pair of this address was wrong.
  mutating func wrong(_ address: String, _ now: Instant) {
    level = max(level, now).advanced(by: numbers.wrongInterval)
    let isFlood = now.duration(to: level) > numbers.wrongInterval * numbers.wrongBurst
    if find(address) == nil {
      makeRoom(now)
      if suspects.count >= numbers.maxWatchedAddresses {
        crowdedUntil = now.advanced(by: numbers.wrongInterval)
        return
      }
    }
    var bound = numbers.wrongPairs
    if isFlood { bound = min(bound, numbers.floodWrongPairs) }
    suspect(address, bound, now)
    guard let network = Self.network(address) else { return }
    if find(network) == nil { makeRoom(now) }
    if find(network) != nil || suspects.count < numbers.maxWatchedAddresses {
      suspect(network, numbers.wrongPairsOfNetwork, now)
    }
  }

  private mutating func suspect(_ name: String, _ bound: Int, _ now: Instant) {
    let place = find(name) ?? suspects.count
    if place == suspects.count { suspects.append(Suspect(name: name)) }
    var times = suspects[place].lockedUntil == nil ? suspects[place].times : []
    times.removeAll { $0.advanced(by: numbers.wrongWindow) <= now }
    times.append(now)
    suspects[place].times = times
    suspects[place].lockedUntil =
      times.count >= bound ? now.advanced(by: numbers.lockOut) : nil
  }

  /// Forgets those that count for nothing any more; looks again only when strangers may try again.
  private mutating func makeRoom(_ now: Instant) {
    guard suspects.count >= numbers.maxWatchedAddresses, crowdedUntil <= now else { return }
    suspects.removeAll { suspect in
      if let until = suspect.lockedUntil { return until <= now }
      return suspect.times.allSatisfy { $0.advanced(by: numbers.wrongWindow) <= now }
    }
  }
}
