import HoldfastBottleData
import HoldfastCore

@testable import HoldfastBottleLink

/// Random inputs for the link to a bottle. A radio, a bottle and a store answer in any order.
struct BottleLinkInputs: LinkedGenerator {
  var run: RandomRun<BottleModel>
  private var disk = StoredDrinks()
  // MARK: Requests that have not been answered
  private var connects: [(attempt: AttemptID, id: PeripheralID)] = []
  private var discovering: AttemptID?
  private var writes: [(id: WriteID, attribute: BottleAttribute, bytes: [UInt8])] = []
  private var commits: [(id: UInt64, change: DrinkChange)] = []
  // MARK: The state of the bottle
  private var lastRecord: UInt32 = 0
  private var records: [BottleRecord] = []
  private var chunks: [BottleChunk] = []
  private var lastRequest: UInt64 = 0
  /// The app's unanswered requests, for use in properties.
  private var requests: Set<UInt64> = []

  private static let bottles = [UInt64(1), 2].map { PeripheralID(UUID128(high: 0, low: $0)) }

  init(seed: UInt64) {
    var source = RandomPolicies(generator: RandomSource(seed: seed))
    var settings = BottleSettings(policy: source.one(Self.policies))
    settings.syncs = !source.oneIn(6)
    run = RandomRun(
      BottleModel(settings, seed: source.generator.next()), seed: seed, generator: source.generator)
  }

  private static let policies: [LinkPolicy] = {
    let quick = try? LinkPolicy.bottleLink.setting([
      ("liveness.idle", "4s standby"), ("gate.foreground", "0s"),
    ])
    let open = try? LinkPolicy.bottleLink.setting([("gate.background", "stay")])
    return [.bottleLink, quick, open].compactMap(\.self)
  }()

  mutating func begin() { launch() }

  mutating func act() {
    passTime([.milliseconds(200), .seconds(1), .seconds(5), .seconds(15), .seconds(40)])
    switch number(0...19) {
    case 0, 1: use()
    case 2: oneIn(2) ? changeDevice() : give(.central(.adapter(one(AdapterState.allCases))))
    case 3, 4: disturb()
    case 5...7: answerStore()
    case 8...10: answerWrite()
    case 11: record()
    case 12:
      guard oneIn(8) else { return }
      restart(BottleModel(machine.settings, seed: generator.next()))
      launch()
    case _: goOn()
    }
  }

  mutating func note(_ step: MachineStep<BottleModel>) {
    for effect in step.effects {
      switch effect {
      case .connect(let attempt, let id, _, _): connects.append((attempt, id))
      case .cancel(let attempt, _):
        connects.removeAll { $0.attempt == attempt }
        if discovering == attempt { discovering = nil }
      case .discover(let attempt): discovering = attempt
      case .write(_, let id, let attribute, let bytes): writes.append((id, attribute, bytes))
      case .commit(let id, let change): commits.append((id, change))
      case .confirm(let number): disk.confirm(number)
      case .scan, .stopScan, .update: continue
      }
    }
    requests = step.requests(after: requests)
  }

  mutating func noteRestart() {
    (connects, discovering, writes, commits) = ([], nil, [], [])
    requests = []
  }

  static func request(in effect: BottleModel.Effect) -> String? {
    switch effect {
    case .connect(let attempt, let id, _, _): "connect \(attempt) \(id)"
    case .write(_, let id, _, _): "write \(id)"
    case .commit(let id, _): "commit \(id)"
    case .update(.refreshed(let id, _)), .update(.performed(let id, _)): "answer \(id)"
    // The services can change during a connection, so it can have several discoveries.
    case .scan, .stopScan, .cancel, .discover, .confirm, .update: nil
    }
  }

  static func attempt(of effect: BottleModel.Effect) -> AttemptID? {
    // A queued connect of an earlier attempt may still be cancelled.
    if case .write(let attempt, _, _, _) = effect { attempt } else { nil }
  }

  static let properties: [MachineProperty<BottleLinkInputs>] = [
    .usesPresentAttempt,
    MachineProperty("each request is answered or waits") { generator, step in
      step.requests(after: generator.requests) == Set(step.after.requests.entries.map(\.id))
    },
    MachineProperty("a chunk is acknowledged only after it was stored") { _, step in
      if case .committed? = step.input { return true }
      return !step.effects.contains { effect in
        guard case .write(_, _, .syncControl, let bytes) = effect else { return false }
        return bytes == BottleSync.acknowledgement.bytes
      }
    },
    MachineProperty("a connection has one discovery at a time") { _, step in
      step.effects.allSatisfy { effect in
        guard case .discover(let attempt) = effect, let before = step.before.connection,
          before.attempt == attempt
        else { return true }
        return before.discovery != .running
      }
    },
    MachineProperty("values are written only to services that are discovered") { _, step in
      let isKnown = [step.before, step.after].contains { $0.connection?.takesWrites == true }
      return isKnown
        || !step.effects.contains { if case .write = $0 { true } else { false } }
    },
  ]
}

// MARK: Inputs from the app and the device
extension BottleLinkInputs {
  private mutating func launch() {
    give(.restored(disk.snapshot))
    if oneIn(4) {
      let peripheral = RestoredPeripheral(one(Self.bottles), isConnected: oneIn(2))
      give(.central(.restored([peripheral])))
    }
    give(.start)
    if !oneIn(4) { give(.central(.adapter(.on))) }
  }

  private mutating func use() {
    switch number(0...13) {
    case 0: give(.stop)
    case 1, 2: give(.start)
    case 3...5:
      lastRequest += 1
      give(.refresh(lastRequest))
    case 6...8:
      lastRequest += 1
      give(.perform(lastRequest, request()))
    case 9, 10: give(.hold(oneIn(2)))
    case 11: give(.choose(maybe(KnownBottle(one(Self.bottles)))))
    case _: give(.shown(through: UInt64(number(0...20))))
    }
  }

  private mutating func request() -> BottleRequest {
    switch number(0...6) {
    case 0: .command(.tare)
    case 1: .command(.resetDaily)
    case 2, 3: .command(.delete(UInt32(number(0...Int(lastRecord)))))
    case 4: .settings(BottleSwitches(shakeToEmpty: oneIn(2)))
    case 5: .configuration(BottleConfiguration(scale: 412, tare: 0))
    case _: .configuration(BottleConfiguration(scale: 1, tare: 0))
    }
  }

  /// Answers the oldest commit. If there is none, answers an unknown commit.
  private mutating func answerStore() {
    guard !commits.isEmpty else {
      return give(oneIn(2) ? .committed(9_999, []) : .uncommitted(9_999, .full(detail: "late")))
    }
    let (id, change) = commits.removeFirst()
    if oneIn(9) { return give(.uncommitted(id, .full(detail: "full"))) }
    give(.committed(id, disk.commit(change)))
  }
}

// MARK: Inputs from the radio and the bottle
extension BottleLinkInputs {
  /// Passes an input that usually advances the link.
  private mutating func goOn() {
    guard machine.adapter == .on else { return give(.central(.adapter(.on))) }
    guard machine.link.isWanted else { return give(.start) }
    if let discovering, !machine.isConnected || oneIn(2) { return endDiscovery(discovering) }
    if machine.isConnected { return receive() }
    if !connects.isEmpty, !oneIn(6) {
      let (attempt, _) = connects[number(0...connects.count - 1)]
      if oneIn(6) { return lose(attempt) }
      return give(.central(.connected(attempt)))
    }
    if machine.search.isScanning {
      let id = oneIn(9) ? one(Self.bottles) : machine.bottle?.id ?? one(Self.bottles)
      return give(.central(.found(id, name: maybe("bottle"))))
    }
    if machine.link.status.phase == .held { return free() }
    awaitDue()
  }

  private mutating func lose(_ attempt: AttemptID) {
    connects.removeAll { $0.attempt == attempt }
    if discovering == attempt { discovering = nil }
    give(
      .central(
        oneIn(2)
          ? .failed(attempt, linkFailure()) : .disconnected(attempt, maybe(linkFailure()))))
  }

  private mutating func endDiscovery(_ attempt: AttemptID) {
    discovering = nil
    if oneIn(8) { return give(.undiscovered(attempt, linkFailure())) }
    give(.discovered(attempt, longestValue: one([20, 48, 182]), state(), at: wall))
  }

  private mutating func state() -> BottleState {
    let unsynced = oneIn(8) ? number(0...9) : records.count
    return BottleState(
      time: 1_768_000_000, flags: oneIn(3) ? [] : .timeIsValid, unsynced: UInt16(unsynced))
  }

  /// Records drinks. The bottle reports them if it is connected.
  private mutating func record() {
    for _ in 0..<(oneIn(4) ? number(2...25) : 1) {
      lastRecord += 1
      records.append(
        BottleRecord(
          id: lastRecord, time: oneIn(5) ? 9 : 1_768_000_000 + lastRecord, amount: 150, level: 300))
    }
    if oneIn(40) { lastRecord = 0 }
    if machine.isConnected { give(.heard(attempt, .state(state()), at: wall)) }
  }

  /// Passes an input from the bottle.
  private mutating func receive() {
    if oneIn(15) { return give(.central(.changed(attempt))) }
    if !chunks.isEmpty, !oneIn(6) {
      let chunk = oneIn(12) ? chunks[chunks.count - 1] : chunks.removeFirst()
      return give(.heard(attempt, .chunk(chunk), at: wall))
    }
    if !writes.isEmpty, !oneIn(4) { return answerWrite() }
    let news: [BottleModel.News] = [
      .state(state()), .state(state()), .battery(50), .brokenChunk(detail: "cut off"),
      .chunk(BottleChunk(index: 0, total: UInt16(number(0...2)), records: [])),
      .calibration(BottleCalibration(step: .waitEmpty)), .malformed(detail: "odd"),
    ]
    give(.heard(attempt, one(news), at: wall))
  }

  /// Answers a write over the radio, and lets the bottle execute its command.
  private mutating func answerWrite() {
    guard !writes.isEmpty else { return give(.written(WriteID(9_999))) }
    let (id, attribute, bytes) = writes.remove(at: oneIn(5) ? number(0...writes.count - 1) : 0)
    if oneIn(10) { return give(.unwritten(id, linkFailure())) }
    if attribute == .syncControl, let control = try? BottleSync(bytes) { obey(control) }
    give(.written(id))
  }

  private mutating func obey(_ control: BottleSync) {
    switch control.command {
    case .query: return
    case .acknowledge: if chunks.isEmpty { records = [] }
    case .start:
      let asked = Array(records.prefix(Int(control.count)))
      let size = max(1, Int(control.chunkSize))
      let starts = Array(stride(from: 0, to: asked.count, by: size))
      chunks = starts.enumerated().map { index, start in
        BottleChunk(
          index: UInt16(index), total: UInt16(starts.count),
          records: Array(asked[start..<min(start + size, asked.count)]))
      }
    }
  }

  /// Passes an input of another connection, a late input, or a repeated input.
  private mutating func disturb() {
    let other = anyAttempt()
    switch number(0...10) {
    case 0: give(.central(.connected(other)))
    case 10: give(.central(.changed(other)))
    case 1, 2, 3: lose(other)
    case 4: give(.discovered(other, longestValue: 20, state(), at: wall))
    // A discovery cannot end before its connection is established.
    case 5: if other != machine.link.queuedAttempt { give(.undiscovered(other, linkFailure())) }
    case 6: give(.heard(other, .state(state()), at: wall))
    case 7: give(.central(.found(one(Self.bottles), name: nil)))
    case 8: give(.central(.value(other, UUID128(high: 0, low: 3), [1])))
    case _: give(oneIn(2) ? .written(WriteID(1)) : .unwritten(WriteID(1), linkFailure()))
    }
  }
}

extension MachineStep<BottleModel> {
  /// Returns the requests that are unanswered after this step.
  fileprivate func requests(after requests: Set<UInt64>) -> Set<UInt64> {
    var requests = requests
    if case .refresh(let id)? = input { requests.insert(id) }
    if case .perform(let id, _)? = input { requests.insert(id) }
    for case .update(let update) in effects {
      if case .refreshed(let id, _) = update { requests.remove(id) }
      if case .performed(let id, _) = update { requests.remove(id) }
    }
    return requests
  }
}
