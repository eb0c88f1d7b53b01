import BottleLink
import LinkCore
import LinkStorage
import LinkWire

extension BottleFeature {
  /// A deliberate defect of a phone with a bottle.
  public enum Defect: String, DeliberateDefect {
    /// There is one kind of server.
    public typealias Server = OneServer

    /// Queues nothing with the system: its reconnects hang on timers and bursts.
    case timerOnly
    /// The end of a burst takes the queued connect with it.
    case queueEndsWithBurst
    /// Arms the queued connect again at once, however fast it failed.
    case noFloor
    /// Acknowledges a chunk before it is stored.
    case acksEarly
    /// Acknowledges nothing.
    case neverAcks
    /// Loses the last record of each chunk.
    case losesLast
    /// Stores a record that it knows again.
    case storesTwice
    /// Knows a record by its id and its time alone.
    case confusesRecords
    /// Takes only the first chunk of a synchronisation.
    case firstChunkOnly
    /// Asks for 20 records in a chunk, whatever the radio carries.
    case asksTooMuch
    /// Shows a drink twice.
    case showsTwice
    /// Never sets the bottle's clock.
    case neverSetsTime
    /// Does not set it again after a write of the time was lost.
    case setsTimeOnce
    /// Does not use a connection that the system has restored.
    case ignoresRestored
    /// Does not hear what the adapter does.
    case ignoresAdapter
    /// Does not hear in background that a connection ended.
    case ignoresEnd
    /// Never ends a scan.
    case scansOn
    /// Scans at once when it comes to the front.
    case hastyBurst
    /// Does not scan after an unexpected loss.
    case noScanAfterLoss
    /// Keeps the connection in background.
    case staysInBackground
    /// Keeps a connection over which nothing comes.
    case neverIdle
    /// Ends a connection over which nothing comes too early.
    case idlesEarly
    /// Has a bottle connected again at once that was left because nothing was left to do.
    case neverRests
    /// Does not hear that the app holds the connection.
    case ignoresHolds
    /// Keeps the bottle awake although nobody holds the connection.
    case pingsAlways
    /// Does not answer a refresh.
    case forgetsRefresh
    /// Reads more in a chunk than is in it.
    case misreads
    /// Writes a ping for each command.
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

    /// A write of the time is lost seldom, and memory too.
    public var seeds: Int { self == .setsTimeOnce || self == .confusesRecords ? 600 : 100 }
  }
}

/// The seam between a phone and its world: clean, or as a defect would have it.
struct BottleSeam {
  let defect: BottleFeature.Defect?
  /// The attempt to which an early acknowledgement belongs.
  private var acknowledged = 0
  /// The attempt for which the time was set last.
  private var timed: AttemptID?
  /// The ids and times of the records that were given to the store.
  private var given: Set<[UInt32]> = []

  init(_ defect: BottleFeature.Defect?) {
    self.defect = defect
  }

  /// Whether the end of a scan takes what is queued.
  var dropsQueue: Bool { defect == .queueEndsWithBurst }

  /// Whether a connect to a restored peripheral is not made.
  func ignores(restored isRestored: Bool) -> Bool { isRestored && defect == .ignoresRestored }

  /// The policy that the model really follows.
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

  /// What is really read.
  func read(_ news: BottleModel.News?) -> BottleModel.News? {
    guard defect == .misreads, case .chunk(var chunk)? = news, !chunk.records.isEmpty else {
      return news
    }
    chunk.records[0].amount += 1
    return .chunk(chunk)
  }

  /// What is really written.
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

  /// The change that is really stored.
  ///
  /// - Parameter known: The ids that the store holds.
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
