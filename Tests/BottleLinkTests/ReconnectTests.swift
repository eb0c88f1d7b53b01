import BottleFirmware
import LinkCore
import LinkStorage
import LinkWire
import Testing
import VirtualBottle

@testable import BottleLink

/// Tests of the scans for a bottle, and of the tasks outstanding with the system.
@Suite struct ReconnectTests {
  private static func arms(_ bench: BottleBench) -> Int {
    bench.log.count { if case .connect(_, _, true, _) = $0.effect { true } else { false } }
  }

  @Test func `the first burst takes 5 s, during which the queued connect is armed`() {
    var bench = BottleBench.wanted()
    #expect(bench.status.phase == .scanning)
    #expect(bench.status.outstanding == [.scan, .queuedConnect])
    bench.pass(4.9)
    #expect(bench.status.phase == .scanning)
    bench.pass(0.1)
    #expect(bench.status.phase == .disconnected)
    #expect(bench.status.outstanding == [.queuedConnect])
    #expect(Self.arms(bench) == 1, "the end of the burst did not cancel it")
  }

  @Test func `a burst begins half a second after coming to the foreground`() {
    var bench = BottleBench.connected()
    bench.background()
    bench.pass(60)
    bench.log = []
    bench.foreground()
    let time = bench.wait(2) { $0.status.phase == .scanning }
    #expect(time.map { (0.45...0.55).contains($0) } == true)
    #expect(!bench.log.contains { if case .cancel = $0.effect { true } else { false } })
  }

  @Test func `a burst that finds nothing is silent`() {
    var bench = BottleBench.wanted()
    bench.pass(30)
    #expect(bench.notices == [])
  }

  @Test func `a burst takes only the known bottle`() {
    var bench = BottleBench.wanted()
    bench.give(.central(.found(PeripheralID(UUID128(high: 1, low: 1)), name: "Other")))
    #expect(bench.status.phase == .scanning)
    bench.give(.central(.found(BottleBench.id, name: "Bottle")))
    #expect(bench.status.phase == .connecting)
  }

  @Test func `without a known bottle, burst and system scan for any, and the first one is stored`()
    throws
  {
    var bench = BottleBench()
    bench.launch()
    #expect(bench.status.outstanding == [.scan, .queuedScan])
    bench.pass(20)
    #expect(bench.status.outstanding == [.queuedScan])
    bench.touch(.moved)
    _ = try #require(bench.wait(30) { $0.status.phase == .connected })
    bench.pass(1)
    #expect(bench.store.snapshot.bottle == KnownBottle(BottleBench.id, name: "Bottle"))
  }

  @Test func `scans 3 s after an unexpected loss, and queues a connect at once`() {
    var bench = BottleBench.connected()
    bench.drop(.reset)
    bench.pass(0.1)
    #expect(bench.status.outstanding == [.queuedConnect, .timer])
    let time = bench.wait(10) { $0.status.phase == .scanning }
    #expect(time.map { (2.8...3.1).contains($0) } == true, "\(time ?? -1)")
  }

  @Test func `disconnects after 60 idle seconds and queues a connect`() {
    var bench = BottleBench.connected(.plan028)
    // The bottle stays awake without drinks as long as its level changes.
    for _ in 0..<56 {
      bench.pass(1)
      bench.touch(.moved)
    }
    #expect(bench.status.phase == .connected)
    bench.pass(8)
    #expect(bench.log.contains { if case .cancel = $0.effect { true } else { false } })
    #expect(Self.arms(bench) == 1)
  }

  /// Returns how long after the end of its first connection the phone connects again to a bottle
  /// that is carried about, and so is awake all the time.
  private static func pause(_ bench: inout BottleBench, _ limit: Int) -> Double? {
    var ended: Double?
    for step in 0..<limit * 20 {
      bench.pass(0.05)
      if step % 20 == 0 { bench.touch(.moved) }
      if ended == nil, !bench.isLinked { ended = bench.seconds }
      if let ended, bench.isLinked { return bench.seconds - ended }
    }
    return nil
  }

  /// The system notices the bottle 0.1 s after it begins to look.
  @Test(arguments: [false, true])
  func `leaves a bottle that stays awake alone for 30 s after an idle connection`(
    isInBackground: Bool
  ) throws {
    var bench = BottleBench.connected(.plan028)
    bench.passive = .milliseconds(100)
    if isInBackground { bench.background() }
    let pause = try #require(Self.pause(&bench, 200))
    #expect((30...31).contains(pause), "\(pause)")
    bench.pass(0.1)
    #expect(bench.notices == (isInBackground ? [.reconnectedInBackground] : []))
  }

  @Test func `reconnects at once to a bottle with records that did not arrive`() throws {
    var bench = BottleBench.connected(.plan028)
    bench.passive = .milliseconds(100)
    bench.storeFailure = .full(detail: "no space left")
    bench.touch(.poured(250))
    let pause = try #require(Self.pause(&bench, 200))
    #expect(pause <= 1, "\(pause)")
  }

  @Test func `leaves a bottle that only claims to have records alone, too`() throws {
    var bench = BottleBench.wanted(.plan028)
    bench.passive = .milliseconds(100)
    bench.bottle.countsDeleted = true
    bench.pass(1)
    bench.touch(.moved)
    bench.touch(.poured(40))
    bench.pass(0.1)
    bench.deleteOnBottle(1)
    bench.pass(5)
    #expect(bench.status.phase == .connected)
    let pause = try #require(Self.pause(&bench, 200))
    #expect(bench.notices.first == .nothingCame(said: 1))
    #expect((30...31).contains(pause), "\(pause)")
  }

  @Test func `opening the app ends a bottle's rest`() throws {
    var bench = BottleBench.connected(.plan028)
    bench.passive = .milliseconds(100)
    bench.background()
    bench.pass(6)
    #expect(!bench.isLinked)
    bench.touch(.moved)
    bench.foreground()
    let time = try #require(bench.wait(10) { $0.status.phase == .connected })
    #expect(time <= 5, "found by the burst, as in test 1 of the seed: \(time)")
  }

  @Test func `a hold keeps the connection with a ping every 25 s, until it is released`() {
    var bench = BottleBench.connected(.plan034)
    bench.give(.hold(true))
    bench.give(.hold(true))
    bench.give(.hold(false))
    // Plan 034 sleeps after 180 s without motion, whatever the phone writes.
    bench.pass(150)
    #expect(bench.status.phase == .connected)
    let pings = bench.log.count {
      if case .write(_, _, .command, BottleCommand.ping.bytes) = $0.effect { true } else { false }
    }
    #expect((7...9).contains(pings), "two at the start of the holds, then one every 25 s")
    bench.give(.hold(false))
    bench.pass(100)
    #expect(bench.status.phase != .connected)
  }

  @Test func `a hold counts as use from its start to its end`() {
    var bench = BottleBench.connected(.plan028)
    // Keeps the bottle awake, as if it were carried about.
    func carry(_ seconds: Int) {
      for _ in 0..<seconds {
        bench.pass(1)
        bench.touch(.moved)
      }
    }
    carry(54)
    bench.give(.hold(true))
    carry(24)
    #expect(bench.status.phase == .connected, "it began shortly before the connection was idle")
    bench.give(.hold(false))
    carry(59)
    #expect(bench.status.phase == .connected)
    carry(2)
    #expect(bench.status.phase != .connected)
  }

  @Test func `without a hold no ping keeps the bottle awake`() {
    var bench = BottleBench.connected(.plan034)
    bench.pass(120)
    #expect(
      !bench.log.contains {
        if case .write(_, _, .command, BottleCommand.ping.bytes) = $0.effect { true } else { false }
      })
  }

  @Test func `a loss in the background causes no scan, even before it would have disconnected`() {
    var bench = BottleBench.connected()
    bench.background()
    bench.pass(1)
    bench.log = []
    bench.drop(.reset)
    bench.pass(60)
    #expect(!bench.log.contains { $0.effect == .scan })
    #expect(bench.status.outstanding == [.queuedConnect])
  }

  @Test func `disconnects after 5 s in the background, and not before`() {
    var bench = BottleBench.connected()
    bench.background()
    bench.pass(4.9)
    #expect(bench.status.phase == .connected)
    bench.pass(0.2)
    #expect(bench.status.phase == .disconnected)
    #expect(bench.status.outstanding == [.queuedConnect])
  }

  @Test func `only the queued connect wakes a suspended app`() throws {
    var bench = BottleBench.connected(.plan035)
    bench.background()
    bench.pass(40_000)
    #expect(bench.isSuspended)
    bench.touch(.moved)
    bench.touch(.poured(250))
    _ = try #require(bench.wait(60) { $0.stored == [1] })
  }

  @Test func `a loss just before the app is suspended leaves a connect outstanding`() {
    var bench = BottleBench.connected()
    bench.isInBackground = true
    bench.runsUntil = bench.now.advanced(by: .milliseconds(50))
    bench.drop(.reset)
    bench.grant = .milliseconds(5)
    bench.pass(0.5)
    #expect(bench.isSuspended)
    #expect(bench.model.isKeptBySystem)
  }

  @Test(arguments: [
    (AdapterState.off, BottleRefreshResult.bluetoothOff),
    (.unauthorised, .bluetoothUnavailable), (.unsupported, .bluetoothUnavailable),
  ])
  func `tries nothing without the adapter, and resumes on its return`(
    state: AdapterState, result: BottleRefreshResult
  ) throws {
    var bench = BottleBench.connected()
    bench.adapter(state)
    #expect(bench.status.phase == .disconnected)
    #expect(bench.status.outstanding == [.adapter])
    bench.give(.refresh(1))
    #expect(bench.updates.contains(.refreshed(1, result)))
    bench.pass(100)
    bench.adapter(.on)
    bench.touch(.moved)
    _ = try #require(bench.wait(15) { $0.status.phase == .connected })
  }

  @Test(arguments: [AdapterState.resetting, .unknown])
  func `a restart of the adapter voids every pending connect`(state: AdapterState) throws {
    var bench = BottleBench.wanted()
    bench.pass(10)
    bench.adapter(state)
    #expect(bench.status.outstanding == [.adapter])
    bench.log = []
    bench.adapter(.on)
    #expect(Self.arms(bench) == 1)
  }

  @Test func `a restored connected bottle is discovered and subscribed again`() {
    var bench = BottleBench.connected()
    let attempt = bench.model.link.currentAttempt
    #expect(attempt != nil)
    // The system keeps the connection while the app does not run.
    bench.kill(keeping: true)
    bench.launch(restoring: [RestoredPeripheral(BottleBench.id, isConnected: true)])
    bench.pass(1)
    #expect(bench.status.phase == .connected)
    #expect(bench.log.contains { if case .discover = $0.effect { true } else { false } })
  }

  @Test func `requests a restored pending connect again`() throws {
    var bench = BottleBench.wanted()
    bench.pass(10)
    bench.kill(keeping: true)
    bench.log = []
    bench.launch(restoring: [RestoredPeripheral(BottleBench.id, isConnected: false)])
    #expect(Self.arms(bench) == 1)
  }

  @Test func `restoring nothing is a launch like any other`() {
    var bench = BottleBench.wanted()
    bench.kill(keeping: false)
    bench.launch(restoring: [])
    #expect(bench.status.outstanding == [.scan, .queuedConnect])
  }

  @Test func `late and repeated callbacks change nothing`() throws {
    var bench = BottleBench.connected()
    let current = try #require(bench.model.link.currentAttempt)
    let before = bench.status
    for number in 1..<current.number {
      bench.give(.central(.connected(AttemptID(number))))
      bench.give(.central(.failed(AttemptID(number), .reset)))
      bench.give(.central(.disconnected(AttemptID(number), .reset)))
      bench.give(.undiscovered(AttemptID(number), .reset))
      bench.give(.heard(AttemptID(number), .brokenChunk(detail: "late"), at: bench.wall))
    }
    bench.give(.central(.connected(current)))
    bench.give(
      .discovered(current, longestValue: 20, bench.bottle.state, at: bench.wall))
    #expect(bench.status == before)
    #expect(bench.isLinked)
  }

  @Test func `a failed connect after a burst leaves the queued connect armed`() {
    var bench = BottleBench.wanted()
    bench.give(.central(.found(BottleBench.id, name: nil)))
    #expect(bench.status.phase == .connecting)
    bench.pass(10)
    #expect(bench.status.outstanding == [.queuedConnect])
  }

  @Test func `a stop leaves nothing outstanding, and a start begins again`() {
    var bench = BottleBench.wanted()
    bench.give(.stop)
    #expect(bench.status.outstanding == [])
    #expect(bench.model.isStopped)
    #expect(bench.model.deadline == nil)
    bench.give(.start)
    #expect(bench.status.outstanding == [.scan, .queuedConnect])
  }

  @Test func `scans for another bottle once it was chosen`() {
    var bench = BottleBench.connected()
    bench.give(.choose(nil))
    #expect(bench.status.outstanding == [.scan, .queuedScan])
    bench.give(.choose(KnownBottle(PeripheralID(UUID128(high: 1, low: 1)))))
    #expect(bench.status.outstanding == [.scan, .queuedConnect])
  }

  @Test func `a policy with a preparation time opens a link without one`() throws {
    let policy = try LinkPolicy.bottleLink.setting([("establish.prepare", "5s")])
    var bench = BottleBench.wanted(policy: policy)
    bench.touch(.moved)
    bench.touch(.stands(true))
    bench.pass(4)
    #expect(bench.status.phase == .connected)
  }

  @Test func `the same inputs make the same effects`() {
    func run() -> [BottleModel.Effect] {
      var bench = BottleBench.wanted()
      bench.touch(.moved)
      bench.touch(.poured(100))
      bench.pass(100)
      return bench.log.map(\.effect)
    }
    #expect(run() == run())
  }
}
