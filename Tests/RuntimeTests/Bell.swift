import HoldfastCore
import HoldfastDriver
import HoldfastPorts
import HoldfastTestKit

/// A small machine for tests. It repeats numbers, and rings at its deadline.
struct Bell: Machine {
  enum Input: Sendable, Equatable, Codable {
    case say(Int)
    case ring(at: Instant)
    /// Makes the deadline remain unchanged after it has passed. A correct machine never does this.
    case jam
    /// Breaks the machine's invariant.
    case crack
  }

  enum Effect: Sendable, Equatable, Codable {
    case said(Int)
    case rang(Instant)
  }

  var ring: Instant?
  var isJammed = false
  var isCracked = false
  var deadline: Instant? { ring }

  mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    switch input {
    case .say(let number): return [.said(number)]
    case .ring(let at): ring = at
    case .jam: isJammed = true
    case .crack:
      isCracked = true
      return [.said(0)]
    }
    return []
  }

  mutating func tick(at now: Instant) -> [Effect] {
    guard let ring, ring <= now else { return [] }
    if !isJammed { self.ring = nil }
    return [.rang(now)]
  }

  func check(_ check: inout InvariantCheck) {
    check.require(!isCracked, "bell: it has no crack")
  }
}

extension Bell: Journaled {
  static let journalName = "bell"

  struct Birth: Codable, Sendable, Hashable {
    var name = "b"
  }

  init(_ birth: Birth, seed: UInt64) { self.init() }
}

/// A driver that records its effects in `effects`.
struct Work<M: Journaled> {
  let driver: Driver<M>
  let effects = Mailbox<M.Effect>()

  init(
    _ machine: M, clock: any LinkClock, inboxLimit: Int = 256, journal: Journal<M>? = nil,
    also: @escaping @Sendable (M.Effect) async -> Void = { _ in }
  ) {
    driver = Driver(machine: machine, clock: clock, inboxLimit: inboxLimit, journal: journal) {
      [effects] effect, _ in
      await also(effect)
      effects.put(effect)
    }
  }

  /// Runs the driver while `body` runs. Then cancels the driver and waits until it has ended.
  func run(_ body: () async throws -> Void) async throws {
    let running = Task { [driver] in await driver.run() }
    do {
      try await body()
    } catch {
      running.cancel()
      await running.value
      throw error
    }
    running.cancel()
    await running.value
  }
}
