/// One direction of a proxied connection: the bytes received but not yet sent.
///
/// A flow is a value that performs no I/O. It receives bytes and the current time, and returns the
/// bytes to send.
struct Flow {
  /// The part of a fault that affects one direction.
  enum Course: Equatable {
    case pass
    case hold
    case discard
    case delay(Duration)
    case rate(Int)
  }

  typealias Moment = ContinuousClock.Instant

  /// The maximum number of buffered bytes.
  ///
  /// When the buffer is full, the sender's own buffer fills, as on a real path.
  static let limit = 1 << 20
  /// The number of slices that are sent per second if the rate is limited.
  static let slicesPerSecond = 20

  var course = Course.pass
  /// The number of bytes that may still be sent; `nil` if there is no limit.
  var allowance: Int?
  private var pieces: [(bytes: ArraySlice<UInt8>, due: Moment)] = []
  private var buffered = 0
  private var pacedUntil: Moment?
  private var endDue: Moment?
  private(set) var endSent = false

  /// Whether more bytes may be read.
  var hasRoom: Bool { endDue == nil && buffered < Self.limit }

  /// Whether the source has sent its last byte.
  var hasEnd: Bool { endDue != nil }

  /// Whether the allowance is used up, so that no byte may be sent.
  var isExhausted: Bool { allowance == 0 }

  mutating func take(_ bytes: ArraySlice<UInt8>, at now: Moment) {
    guard course != .discard else { return }
    pieces.append((bytes, due(now)))
    buffered += bytes.count
  }

  /// Records that the source has sent its last byte.
  mutating func takeEnd(at now: Moment) {
    endDue = due(now)
  }

  /// Returns the bytes that may be sent now.
  func ready(at now: Moment) -> ArraySlice<UInt8> {
    guard let first = pieces.first, isOpen(at: now), first.due <= now else { return [] }
    var count = first.bytes.count
    if case .rate(let rate) = course { count = min(count, slice(of: rate)) }
    if let allowance { count = min(count, allowance) }
    return first.bytes.prefix(count)
  }

  mutating func sent(_ count: Int, at now: Moment) {
    pieces[0].bytes = pieces[0].bytes.dropFirst(count)
    if pieces[0].bytes.isEmpty { pieces.removeFirst() }
    buffered -= count
    allowance = allowance.map { $0 - count }
    if case .rate(let rate) = course {
      pacedUntil = now + .nanoseconds(count * 1_000_000_000 / max(rate, 1))
    }
  }

  /// Whether the end may be forwarded now.
  func endIsReady(at now: Moment) -> Bool {
    guard let endDue, !endSent, pieces.isEmpty else { return false }
    return isOpen(at: now) && endDue <= now
  }

  mutating func sentEnd() { endSent = true }

  /// Returns the next time at which bytes become due without further input.
  func deadline(after now: Moment) -> Moment? {
    guard !isSilent else { return nil }
    guard let due = pieces.first?.due ?? (endSent ? nil : endDue) else { return nil }
    let next = max(due, pacedUntil ?? due)
    return next > now ? next : nil
  }

  private var isSilent: Bool { course == .hold || course == .discard }

  private func isOpen(at now: Moment) -> Bool {
    guard !isSilent else { return false }
    guard case .rate = course, let pacedUntil else { return true }
    return pacedUntil <= now
  }

  private func due(_ now: Moment) -> Moment {
    guard case .delay(let delay) = course else { return now }
    return now + delay
  }

  private func slice(of rate: Int) -> Int { max(rate / Self.slicesPerSecond, 1) }
}
