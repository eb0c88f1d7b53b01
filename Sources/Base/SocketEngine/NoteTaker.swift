import HoldfastCore
import HoldfastPorts

/// The notes about one socket for a journal: the phases of its opening, and its bytes.
///
/// A socket without a journal has none.
struct NoteTaker {
  private let note: @Sendable (ConnectionNote) -> Void
  private let clock: any LinkClock
  private let begunAt: Instant
  /// The phases of the dial, once it has ended; `nil` if the stream does not report them.
  private var dial: ConnectionNote.Opening?
  /// The time at which the dial ended; `nil` before.
  private var dialedAt: Instant?
  private var received: UInt64 = 0
  private var sent: UInt64 = 0
  /// The time of the last note about bytes, and their sum. The dial counts as the first one.
  private var noted: (at: Instant, bytes: UInt64)
  private var isOpen = false

  /// The least time between two notes about the bytes of an open socket. It is Holdfast's own.
  static let pace = Duration.seconds(10)

  /// Creates the notes of a socket whose dial begins now; `nil` if nobody receives them.
  init?(_ note: (@Sendable (ConnectionNote) -> Void)?, _ clock: any LinkClock) {
    guard let note else { return nil }
    let now = clock.now
    (self.note, self.clock, begunAt, noted) = (note, clock, now, (now, 0))
  }

  /// Records that the dial has ended.
  mutating func endDial(_ stream: any SocketStream) {
    (dial, dialedAt) = (stream.phases, clock.now)
  }

  /// Notes the phases of a socket that is open.
  mutating func open() {
    isOpen = true
    guard var opening = dial, let dialedAt else { return }
    opening.upgrade = dialedAt.duration(to: clock.now)
    note(.opening(opening))
  }

  /// Notes the end of a dial, or of an upgrade, that did not succeed.
  func fail(_ stream: any SocketStream) {
    if var opening = dial, let dialedAt {
      opening.upgrade = dialedAt.duration(to: clock.now)
      opening.failed = .upgrade
      return note(.opening(opening))
    }
    guard dialedAt == nil, var opening = stream.phases else { return }
    // The phase in progress took the rest of the time.
    let rest = max(begunAt.duration(to: clock.now) - opening.total, .zero)
    let phase = stream.dialPhase
    switch phase {
    case .resolve: opening.resolve = opening.resolve ?? rest
    case .connect: opening.connect = opening.connect ?? rest
    case .tls: opening.tls = opening.tls ?? rest
    case .upgrade, .establish, .response, .silence, .pong, .write: break
    }
    opening.failed = phase
    note(.opening(opening))
  }

  mutating func receive(_ count: Int) {
    received += UInt64(count)
    noteBytesIfDue()
  }

  mutating func send(_ count: Int) {
    sent += UInt64(count)
    noteBytesIfDue()
  }

  /// Notes the bytes of a connection that ends.
  mutating func end() {
    if isOpen { noteBytes(at: clock.now) }
    isOpen = false
  }

  private mutating func noteBytesIfDue() {
    guard isOpen, case let now = clock.now, noted.at.duration(to: now) >= Self.pace else { return }
    noteBytes(at: now)
  }

  private mutating func noteBytes(at now: Instant) {
    guard received + sent > noted.bytes else { return }
    noted = (now, received + sent)
    note(.traffic(received: received, sent: sent))
  }
}
