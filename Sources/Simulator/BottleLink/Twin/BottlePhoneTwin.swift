import BottleLink
import LinkCore
import LinkWire

/// What a phone must say to a bottle, to its store and to its user, told a second time.
///
/// When phone and bottle connect is the link's decision, which other checkers judge: it is taken
/// from the effects. All else is predicted: every write, every change of the store and all that the
/// user sees but the status.
struct BottlePhoneTwin: Sendable {
  var connection: Connection?
  var sync = Sync.idle
  /// Records that were new in this synchronisation.
  var added = 0
  var state: BottleState?
  var wishes: [Wish] = []
  var holds = 0
  var adapter = AdapterState.unknown
  /// The phone's wall clock when the bottle was heard last, and when that was.
  var wall = Timestamp(nanoseconds: 0)
  var heardAt = Instant.zero
  /// The attempt of a burst that has found the bottle.
  var found: AttemptID?
  private var lastWrite = WriteID(0)
  var said: [Said] = []
  var now = Instant.zero

  struct Connection: Sendable {
    var attempt: AttemptID
    /// 0 until services are discovered.
    var longest = 0
    var writes: [WriteID: Purpose] = [:]
    /// The waits before the time is set again that are left, and when it is.
    var timeWaits = BottlePhoneTwin.waits
    var timeAt: Instant?
    var failures = 0
    var syncAt: Instant?
    var silences = 0
    var isLive = false
    var vain: UInt16?
    var saidMore = false
    /// When the user used it last, or drinks came.
    var usedAt: Instant

    var isReady: Bool { longest > 0 }
  }

  enum Sync: Sendable, Equatable {
    case idle
    case requested(late: Instant)
    case awaits(chunk: Int, of: Int, late: Instant)
    /// The store has a chunk; `nil` until its number is known.
    case stores(chunk: Int, of: Int, late: Instant, commit: UInt64?)
    /// The last acknowledgement is on its way.
    case ends(WriteID?)
  }

  enum Purpose: Sendable, Equatable {
    case time, ping, start, acknowledgement, lastAcknowledgement
    case wish(UInt64)
  }

  /// What a user asked for and was not answered.
  struct Wish: Sendable {
    var id: UInt64
    /// `nil` for a refresh.
    var written: (attribute: BottleAttribute, bytes: [UInt8])?
    var deletes: UInt32?
    var until: Instant
    var isSent = false
    var isConfirming = false
    var wasFound = false
    var wasConnected = false
    var sawState = false
  }

  /// Something that the phone says.
  enum Said: Sendable, Equatable {
    case write(BottleAttribute, [UInt8], Purpose)
    case commit(DrinkChange)
    case confirm(UInt64)
    case update(BottleUpdate)
  }

  /// Before a failed synchronisation, and before a time that was not taken is set again.
  static let waits: [Duration] = [.seconds(1), .seconds(5), .seconds(15)]
  static let acknowledgement: [UInt8] = [0, 0, 0, 0, 2, 0, 0, 0]
  static let ping: [UInt8] = [2, 0, 0, 0]

  /// Returns how the effects of a step differ from what they must be.
  mutating func stray(
    _ input: BottleModel.Input?, _ effects: [BottleModel.Effect],
    _ standing: Standing<BottleFeature>
  ) -> String? {
    (now, said) = (standing.now, [])
    let hurry = haste(effects, standing)
    if loses(input, effects) { lose() }
    if let input { take(input) } else { tick() }
    for effect in effects { follow(effect) }
    answerWishes()
    return compare(effects) ?? hurry
  }

  /// Whether the link ends a connection as idle that was used lately.
  private func haste(
    _ effects: [BottleModel.Effect], _ standing: Standing<BottleFeature>
  ) -> String? {
    guard let connection, let idle = standing.policy.liveness.idle,
      effects.contains(.cancel(connection.attempt)), standing.status.reason == .ended(.idle)
    else { return nil }
    let time = connection.usedAt.duration(to: now)
    return time < idle.after ? "it ends as idle what was used \(time) ago" : nil
  }

  /// Whether the connection ends in this step.
  private func loses(_ input: BottleModel.Input?, _ effects: [BottleModel.Effect]) -> Bool {
    guard let attempt = connection?.attempt else { return false }
    if case .central(.failed(attempt, _))? = input { return true }
    if case .central(.disconnected(attempt, _))? = input { return true }
    return effects.contains(.cancel(attempt))
  }

  /// Takes over what the link has decided.
  private mutating func follow(_ effect: BottleModel.Effect) {
    switch effect {
    case .discover(let attempt):
      connection = Connection(attempt: attempt, usedAt: now)
      found = nil
    case .connect(let attempt, _, isQueued: false): found = attempt
    case .cancel(let attempt): if attempt == found { found = nil }
    case .scan, .stopScan, .connect, .write, .commit, .confirm, .update: return
    }
  }

  // The comparison.

  private mutating func compare(_ effects: [BottleModel.Effect]) -> String? {
    var expected = said
    var commits: [UInt64] = []
    for effect in effects {
      guard let real = real(effect) else { continue }
      let place = expected.firstIndex { $0.isAlike(real) }
      if case .write(let attempt, let id, _, _) = effect {
        guard attempt == connection?.attempt, id > lastWrite else {
          return "it writes as \(attempt) and \(id), which are not the present ones"
        }
        lastWrite = id
        guard let purpose = place.flatMap({ expected[$0].purpose }) ?? purpose(of: real) else {
          return "it says \(real), which nothing asks for"
        }
        note(id, purpose)
      }
      if case .commit(let id, let change) = effect, change.bottle == nil, change.deleted == nil {
        commits.append(id)
      }
      if let place {
        // Of each kind the order counts.
        if let earlier = expected[..<place].first(where: { $0.isOfKind(real) }) {
          return "it says \(real) before \(earlier)"
        }
        expected.remove(at: place)
      } else if real.purpose == nil {
        return "it says \(real), which nothing asks for"
      }
    }
    if case .stores(let chunk, let total, let late, nil) = sync {
      sync = .stores(chunk: chunk, of: total, late: late, commit: commits.last)
    }
    return expected.first.map { "it does not say \($0)" }
  }

  /// A ping of the link, which keeps a bottle awake that somebody holds.
  private func purpose(of said: Said) -> Purpose? {
    guard case .write(.command, Self.ping, _) = said, holds > 0, connection?.isReady == true else {
      return nil
    }
    return .ping
  }

  private mutating func note(_ id: WriteID, _ purpose: Purpose) {
    if purpose == .ping { connection?.usedAt = now }
    connection?.writes[id] = purpose
    if purpose == .lastAcknowledgement { sync = .ends(id) }
  }

  private func real(_ effect: BottleModel.Effect) -> Said? {
    switch effect {
    case .write(_, _, let attribute, let bytes): .write(attribute, bytes, .ping)
    case .commit(_, let change): .commit(change)
    case .confirm(let number): .confirm(number)
    case .update(.status): nil
    case .update(let update): .update(update)
    case .scan, .stopScan, .connect, .cancel, .discover: nil
    }
  }
}

extension BottlePhoneTwin.Said {
  var purpose: BottlePhoneTwin.Purpose? {
    if case .write(_, _, let purpose) = self { purpose } else { nil }
  }

  /// Whether both say the same.
  func isAlike(_ other: Self) -> Bool { plain == other.plain }

  /// Without what a write is for, the name of a bottle, and words for people.
  private var plain: Self {
    switch self {
    case .write(let attribute, let bytes, _): .write(attribute, bytes, .ping)
    case .commit(let change): .commit(change.nameless)
    case .update(.performed(let id, .invalid)): .update(.performed(id, .invalid("")))
    case .update, .confirm: self
    }
  }

  func isOfKind(_ other: Self) -> Bool { kind == other.kind }

  private var kind: Int {
    switch self {
    case .write: 0
    case .commit: 1
    case .confirm: 2
    case .update: 3
    }
  }
}

extension DrinkChange {
  /// Without the name of the bottle, which a phone may know or not.
  fileprivate var nameless: DrinkChange {
    var change = self
    change.bottle?.name = nil
    return change
  }
}
