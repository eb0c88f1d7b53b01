public import HoldfastBottleChecks
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastWorldKernel

extension BottleFeature {
  /// A deliberate defect of a phone with a bottle.
  public enum Defect: String, DeliberateDefect {
    /// The servers of this world. There is only one.
    public typealias Server = OneServer

    /// No connect is queued with the system. Reconnects therefore depend on timers and bursts.
    case timerOnly
    /// The end of a burst also removes the queued connect.
    case queueEndsWithBurst
    /// The queued connect is repeated immediately, however quickly it failed.
    case noFloor
    /// A chunk is acknowledged before it is stored.
    case acksEarly
    /// No chunk is acknowledged.
    case neverAcks
    /// The last record of each chunk is lost.
    case losesLast
    /// A known record is stored again.
    case storesTwice
    /// A record is identified only by its ID and its time.
    case confusesRecords
    /// Only the first chunk of a synchronization is accepted.
    case firstChunkOnly
    /// Chunks of 20 records are requested, regardless of what the radio supports.
    case asksTooMuch
    /// A drink is shown twice.
    case showsTwice
    /// The bottle's clock is never set.
    case neverSetsTime
    /// The bottle's clock is not set again if a write of the time was lost.
    case setsTimeOnce
    /// A connection that the system restored is not used.
    case ignoresRestored
    /// Changes of the adapter are ignored.
    case ignoresAdapter
    /// The app ignores the end of a connection while it is in the background.
    case ignoresEnd
    /// A scan is never stopped.
    case scansOn
    /// A scan starts as soon as the app enters the foreground.
    case hastyBurst
    /// No scan follows an unexpected loss.
    case noScanAfterLoss
    /// The connection is kept open in the background.
    case staysInBackground
    /// An idle connection is never closed.
    case neverIdle
    /// An idle connection is closed too early.
    case idlesEarly
    /// The phone reconnects immediately to a bottle that it left because no work remained.
    case neverRests
    /// Holds of the connection are ignored.
    case ignoresHolds
    /// The phone keeps the bottle awake although nothing holds the connection.
    case pingsAlways
    /// A refresh is not answered.
    case forgetsRefresh
    /// The amount in a chunk is misread.
    case misreads
    /// A ping is written in place of each command.
    case writesPings

    case takesLateEvents
    case timersStopAsleep

    public var kinds: [Finding.Kind] {
      switch self {
      case .timerOnly, .queueEndsWithBurst, .noScanAfterLoss, .ignoresHolds: [.stuck]
      case .noFloor, .scansOn, .hastyBurst, .staysInBackground, .neverIdle: [.storm]
      case .idlesEarly, .pingsAlways, .neverRests: [.needless]
      case .acksEarly: [.unstored]
      case .losesLast, .confusesRecords: [.lost, .unhealed]
      case .neverAcks, .firstChunkOnly, .asksTooMuch: [.unhealed, .unsynced]
      case .storesTwice, .showsTwice: [.duplicated]
      case .neverSetsTime, .setsTimeOnce: [.untimed]
      case .ignoresRestored: [.unsynced, .stuck]
      case .ignoresAdapter, .ignoresEnd: [.stuck, .falselyConnected, .unsynced]
      case .forgetsRefresh: [.stuck, .unhealed]
      case .misreads, .writesPings: [.untrue]
      case .takesLateEvents, .timersStopAsleep: link?.kinds ?? []
      }
    }

    /// Lost writes of the time and lost memory are rare. The two defects that depend on them
    /// therefore need more seeds.
    public var seeds: Int { self == .setsTimeOnce || self == .confusesRecords ? 600 : 100 }
  }
}

/// The seam between a phone and its world. It applies a defect, if there is one.
struct BottleSeam {
  let defect: BottleFeature.Defect?
  /// The number of early acknowledgements so far. It makes their IDs unique.
  private var acknowledged = 0
  /// The attempt for which the time was last set.
  private var timed: AttemptID?
  /// The IDs and times of the records that were passed to the store.
  private var given: Set<[UInt32]> = []

  init(_ defect: BottleFeature.Defect?) {
    self.defect = defect
  }

  /// Whether the end of a scan removes the queued connect.
  var dropsQueue: Bool { defect == .queueEndsWithBurst }

  /// Returns whether a connect to a restored peripheral is ignored.
  func ignores(restored isRestored: Bool) -> Bool { isRestored && defect == .ignoresRestored }

  /// Returns the policy that the model follows.
  func policy(_ policy: LinkPolicy) -> LinkPolicy {
    switch defect {
    case .noFloor: return policy.with(policy.retry, standby: .queuedConnect(Self.eager))
    case .hastyBurst:
      var gate = policy.gate
      gate.foreground = .connect(after: .zero)
      return policy.with(policy.retry, gate: gate)
    case .noScanAfterLoss:
      var retry = policy.retry
      retry.reconnect = .list([])
      return policy.with(retry)
    case .staysInBackground:
      var gate = policy.gate
      gate.background = .stay
      return policy.with(policy.retry, gate: gate)
    case .neverRests:
      return policy.with(policy.retry, standby: .queuedConnect(Self.restless))
    case .neverIdle: return idle(after: .seconds(7_200), policy)
    case .idlesEarly: return idle(after: .seconds(15), policy)
    case .timerOnly, .queueEndsWithBurst, .acksEarly, .neverAcks, .losesLast, .storesTwice,
      .confusesRecords, .firstChunkOnly, .asksTooMuch, .showsTwice, .neverSetsTime, .setsTimeOnce,
      .ignoresRestored, .ignoresAdapter, .ignoresEnd, .scansOn, .ignoresHolds, .pingsAlways,
      .forgetsRefresh, .misreads, .writesPings, .takesLateEvents, .timersStopAsleep, nil:
      return policy
    }
  }

  private func idle(after time: Duration, _ policy: LinkPolicy) -> LinkPolicy {
    var liveness = policy.liveness
    liveness.idle = IdleRule(after: time, then: .standby)
    return policy.with(policy.retry, liveness)
  }

  private static var restless: QueuePolicy {
    QueuePolicy(
      rearm: .seconds(1), fastFailure: .seconds(2), floor: .seconds(30), rest: .zero)
  }

  private static var eager: QueuePolicy {
    QueuePolicy(
      rearm: .seconds(1), fastFailure: .milliseconds(100), floor: .seconds(1))
  }

  func toApp(_ input: BottleModel.Input, isInBackground: Bool) -> [BottleModel.Input] {
    switch input {
    case .central(.adapter(let state)) where defect == .ignoresAdapter:
      state == .on ? [input] : []
    case .central(.disconnected) where defect == .ignoresEnd: isInBackground ? [] : [input]
    case .heard(_, .chunk(let chunk), _) where defect == .firstChunkOnly:
      chunk.index > 0 ? [] : [input]
    case .hold where defect == .ignoresHolds: []
    case .start where defect == .pingsAlways: [input, .hold(true)]
    case .start, .stop, .refresh, .hold, .perform, .choose, .shown, .link, .central, .discovered,
      .undiscovered, .heard, .written, .unwritten, .restored, .committed, .uncommitted:
      [input]
    }
  }

  mutating func fromApp(
    _ effect: BottleModel.Effect, attempt: AttemptID?
  ) -> [BottleModel.Effect] {
    switch effect {
    case .connect(_, _, true, _) where defect == .timerOnly: return []
    case .stopScan where defect == .scansOn: return []
    case .update(.drink) where defect == .showsTwice: return [effect, effect]
    case .update(.refreshed) where defect == .forgetsRefresh: return []
    case .write(let attempt, let id, .command, let bytes)
    where defect == .writesPings && bytes.count == 4:
      return [.write(attempt, id, .command, BottleCommand.ping.bytes)]
    case .commit(_, let change) where defect == .acksEarly && !change.records.isEmpty:
      guard let attempt else { return [effect] }
      acknowledged += 1
      let early = WriteID(1_000_000 + UInt64(acknowledged))
      let bytes = BottleSync.acknowledgement.bytes
      return [.write(attempt, early, .syncControl, bytes), effect]
    case .write(let attempt, _, let attribute, let bytes)
    where defect == .setsTimeOnce && BottleRadio.setsTime(attribute, bytes):
      defer { timed = attempt }
      return timed == attempt ? [] : [effect]
    case .scan, .stopScan, .connect, .cancel, .discover, .write, .commit, .confirm, .update:
      return [effect]
    }
  }

  /// Returns the value to pass to the model in place of a value that was read.
  func read(_ news: BottleModel.News?) -> BottleModel.News? {
    guard defect == .misreads, case .chunk(var chunk)? = news, !chunk.records.isEmpty else {
      return news
    }
    chunk.records[0].amount += 1
    return .chunk(chunk)
  }

  /// Returns the attribute and the bytes to write in place of a write of the model.
  func written(
    _ bytes: [UInt8], to attribute: BottleAttribute
  ) -> (BottleAttribute, [UInt8]) {
    let ping = (BottleAttribute.command, BottleCommand.ping.bytes)
    if defect == .neverSetsTime, BottleRadio.setsTime(attribute, bytes) { return ping }
    guard attribute == .syncControl, var sync = try? BottleSync(bytes) else {
      return (attribute, bytes)
    }
    if defect == .neverAcks, sync.command == .acknowledge { return ping }
    if defect == .asksTooMuch, sync.command == .start { sync.chunkSize = 20 }
    return (attribute, sync.bytes)
  }

  /// Returns the change to store in place of a change of the model.
  ///
  /// - Parameter known: The IDs of the records in the store.
  mutating func change(_ change: DrinkChange, known: Set<UInt32>) -> DrinkChange {
    guard !change.records.isEmpty else { return change }
    var other = change
    if defect == .losesLast { other.records.removeLast() }
    if defect == .confusesRecords {
      other.records.removeAll { !given.insert([$0.id, $0.time]).inserted }
    }
    if defect == .storesTwice {
      for index in other.records.indices where known.contains(other.records[index].id) {
        other.records[index].time += 1
      }
    }
    return other
  }
}
