import HoldfastCore
import HoldfastHealth
import HoldfastLinkChecks
import HoldfastRelayChecks
import HoldfastRelayServer
import HoldfastWorldKernel

/// A checker of due data. While the phone, the connection and the assistant work, a question must
/// be answered with data, and no later than the earlier questions in the queue require.
struct RelayDues: Sendable {
  /// A question to a phone that is working.
  private struct Due: Sendable {
    var since: Instant
    var phone: Int
    /// The maximum time for the question and those before it.
    var time: Duration
    /// The total time for which leases had held the phone's queue when the question arrived.
    var held: Duration
  }

  /// The leases of a phone. They hold its queue. A leased question returns to the queue when its
  /// lease expires.
  private struct Hold: Sendable {
    /// The total time for which leases have held the queue, up to `at`.
    var time: Duration
    var at: Instant
    /// The time at which the current leases expire.
    var until: Instant?

    func time(at now: Instant) -> Duration {
      time + max(.zero, at.duration(to: min(until ?? at, now)))
    }
  }

  private var due: [RequestID: Due] = [:]
  /// The questions that may still keep each phone busy: open questions, and those that were
  /// canceled recently.
  private var load: [Int: [RequestID: Instant]] = [:]
  private var holds: [Int: Hold] = [:]
  /// The faults in progress.
  private var troubles: [ObservedEvent] = []
  /// The time of each phone's last fault.
  private var troubledAt: [Int: Instant] = [:]

  /// The time after a fault within which its consequences may still occur. Connections that opened
  /// during the fault are reset up to 30 s later. The value is Holdfast's own.
  private static let rest = Duration.seconds(60)

  /// Records that a question reached the backend.
  mutating func called(
    _ callID: RequestID, _ facts: RelayCallFacts, _ phoneState: PhoneState<RelayFeature>
  ) {
    let (phone, now) = (facts.phone, phoneState.now)
    let limit = RelayServerPolicy().callLimit
    load[phone] = (load[phone] ?? [:]).filter { $0.value.duration(to: now) <= limit }
    load[phone]?[callID] = now
    guard facts.isSound, troubledAt[phone].map({ $0.duration(to: now) > Self.rest }) ?? true,
      !troubles.contains(where: { Self.concerns($0, phone) })
    else { return }
    let time = phoneState.own.turn * (load[phone]?.count ?? 1)
    guard time < limit else { return }
    due[callID] = Due(since: now, phone: phone, time: time, held: held(phone, now))
  }

  /// Records that the leases of a phone expire at `until`, or that there are none if `until` is
  /// `nil`.
  mutating func hold(_ phone: Int, until: Instant?, _ now: Instant) {
    holds[phone] = Hold(time: held(phone, now), at: now, until: until)
  }

  /// Returns the total time for which leases have held a phone's queue.
  private func held(_ phone: Int, _ now: Instant) -> Duration {
    holds[phone]?.time(at: now) ?? .zero
  }

  /// Checks the outcome of a question.
  ///
  /// - Parameter isEntitled: Whether the question's assistant is signed in and has not canceled
  ///   anything.
  mutating func answered(
    _ callID: RequestID, _ outcome: RelayOutcome, isEntitled: Bool, _ now: Instant,
    _ found: inout Findings
  ) {
    var isData = false
    if case .data(let object) = outcome { isData = object.succeeded }
    if isData { for phone in load.keys { load[phone]?[callID] = nil } }
    guard let due = due.removeValue(forKey: callID), isEntitled else { return }
    let time = due.since.duration(to: now)
    let limit = due.time + held(due.phone, now) - due.held
    if !isData {
      // The leases may leave no time for the question.
      guard limit < RelayServerPolicy().callLimit else { return }
      found.add(
        .withheld, at: now,
        "\(callID) got no data of phone \(due.phone), which was there: \(outcome)")
    } else if time > limit {
      found.add(
        .withheld, at: now,
        "\(callID) got data of phone \(due.phone) after \(TraceText.length(time)), not "
          + TraceText.length(limit))
    }
  }

  /// Removes a question. Data is no longer due for it.
  mutating func forget(_ callID: RequestID) { due[callID] = nil }

  /// Records a fault of a phone. Data is no longer due from the phone.
  mutating func trouble(_ phone: Int, at now: Instant) {
    troubledAt[phone] = now
    due = due.filter { $0.value.phone != phone }
  }

  mutating func began(_ event: ObservedEvent, _ now: Instant) {
    if event.lasts { troubles.append(event) }
    trouble(event, now)
  }

  mutating func ended(_ event: ObservedEvent, _ now: Instant) {
    if let index = troubles.firstIndex(of: event) { troubles.remove(at: index) }
    trouble(event, now)
  }

  private mutating func trouble(_ event: ObservedEvent, _ now: Instant) {
    for phone in 0..<RelayFeature.phones where Self.concerns(event, phone) {
      trouble(phone, at: now)
    }
  }

  /// Returns whether a planned event is a fault that affects a phone.
  private static func concerns(_ event: ObservedEvent, _ phone: Int) -> Bool {
    switch event.hostKind {
    case .phone: event.host ?? phone == phone
    case .backend: !event.isOfPeople
    case .client, .peripheral, .system: false
    }
  }
}
