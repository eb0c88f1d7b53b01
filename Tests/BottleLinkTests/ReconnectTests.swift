import HoldfastBottleData
import HoldfastCore
import HoldfastFirmware
import HoldfastVirtualBottle
import Testing

@testable import HoldfastBottleLink

/// Tests of the scans for a bottle, and of the tasks that are outstanding in the system.
@Suite struct ReconnectTests {
  private static func arms(_ harness: BottleHarness) -> Int {
    harness.log.count { if case .connect(_, _, true, _) = $0.effect { true } else { false } }
  }

  @Test func `the first burst takes 5 s, during which the queued connect is armed`() {
    var harness = BottleHarness.wanted()
    #expect(harness.status.phase == .scanning)
    #expect(harness.status.outstanding == [.scan, .queuedConnect])
    harness.pass(4.9)
    #expect(harness.status.phase == .scanning)
    harness.pass(0.1)
    #expect(harness.status.phase == .disconnected)
    #expect(harness.status.outstanding == [.queuedConnect])
    #expect(Self.arms(harness) == 1, "the end of the burst did not cancel it")
  }

  @Test func `a burst begins half a second after coming to the foreground`() {
    var harness = BottleHarness.connected()
    harness.background()
    harness.pass(60)
    harness.log = []
    harness.foreground()
    let time = harness.wait(2) { $0.status.phase == .scanning }
    #expect(time.map { (0.45...0.55).contains($0) } == true)
    #expect(!harness.log.contains { if case .cancel = $0.effect { true } else { false } })
  }

  @Test func `a burst that finds nothing is silent`() {
    var harness = BottleHarness.wanted()
    harness.pass(30)
    #expect(harness.notices == [])
  }

  @Test func `a burst takes only the known bottle`() {
    var harness = BottleHarness.wanted()
    harness.give(.central(.found(PeripheralID(UUID128(high: 1, low: 1)), name: "Other")))
    #expect(harness.status.phase == .scanning)
    harness.give(.central(.found(BottleHarness.id, name: "Bottle")))
    #expect(harness.status.phase == .connecting)
  }

  @Test func `without a known bottle, burst and system scan for any, and the first one is stored`()
    throws
  {
    var harness = BottleHarness()
    harness.launch()
    #expect(harness.status.outstanding == [.scan, .queuedScan])
    harness.pass(20)
    #expect(harness.status.outstanding == [.queuedScan])
    harness.touch(.moved)
    _ = try #require(harness.wait(30) { $0.status.phase == .connected })
    harness.pass(1)
    #expect(harness.store.snapshot.bottle == KnownBottle(BottleHarness.id, name: "Bottle"))
  }

  @Test func `scans 3 s after an unexpected loss, and queues a connect at once`() {
    var harness = BottleHarness.connected()
    harness.drop(.reset)
    harness.pass(0.1)
    #expect(harness.status.outstanding == [.queuedConnect, .timer])
    let time = harness.wait(10) { $0.status.phase == .scanning }
    #expect(time.map { (2.8...3.1).contains($0) } == true, "\(time ?? -1)")
  }

  @Test func `disconnects after 60 idle seconds and queues a connect`() {
    var harness = BottleHarness.connected(.plan028)
    // The bottle stays awake without drinks as long as its level changes.
    for _ in 0..<56 {
      harness.pass(1)
      harness.touch(.moved)
    }
    #expect(harness.status.phase == .connected)
    harness.pass(8)
    #expect(harness.log.contains { if case .cancel = $0.effect { true } else { false } })
    #expect(Self.arms(harness) == 1)
  }

  /// Returns the time from the end of the first connection to the next one, or `nil` if there is
  /// none.
  ///
  /// The bottle is carried about and so is always awake.
  private static func pause(_ harness: inout BottleHarness, _ limit: Int) -> Double? {
    var ended: Double?
    for step in 0..<limit * 20 {
      harness.pass(0.05)
      if step % 20 == 0 { harness.touch(.moved) }
      if ended == nil, !harness.isLinked { ended = harness.seconds }
      if let ended, harness.isLinked { return harness.seconds - ended }
    }
    return nil
  }

  /// The system finds the bottle 0.1 s after it begins to look for it.
  @Test(arguments: [false, true])
  func `leaves a bottle that stays awake alone for 30 s after an idle connection`(
    isInBackground: Bool
  ) throws {
    var harness = BottleHarness.connected(.plan028)
    harness.passive = .milliseconds(100)
    if isInBackground { harness.background() }
    let pause = try #require(Self.pause(&harness, 200))
    #expect((30...31).contains(pause), "\(pause)")
    harness.pass(0.1)
    #expect(harness.notices == (isInBackground ? [.reconnectedInBackground] : []))
  }

  @Test func `reconnects at once to a bottle with records that did not arrive`() throws {
    var harness = BottleHarness.connected(.plan028)
    harness.passive = .milliseconds(100)
    harness.storeFailure = .full(detail: "no space left")
    harness.touch(.poured(250))
    let pause = try #require(Self.pause(&harness, 200))
    #expect(pause <= 1, "\(pause)")
  }

  @Test func `leaves a bottle that only claims to have records alone, too`() throws {
    var harness = BottleHarness.wanted(.plan028)
    harness.passive = .milliseconds(100)
    harness.bottle.countsDeleted = true
    harness.pass(1)
    harness.touch(.moved)
    harness.touch(.poured(40))
    harness.pass(0.1)
    harness.deleteOnBottle(1)
    harness.pass(5)
    #expect(harness.status.phase == .connected)
    let pause = try #require(Self.pause(&harness, 200))
    #expect(harness.notices.first == .nothingCame(said: 1))
    #expect((30...31).contains(pause), "\(pause)")
  }

  @Test func `opening the app ends a bottle's rest`() throws {
    var harness = BottleHarness.connected(.plan028)
    harness.passive = .milliseconds(100)
    harness.background()
    harness.pass(6)
    #expect(!harness.isLinked)
    harness.touch(.moved)
    harness.foreground()
    let time = try #require(harness.wait(10) { $0.status.phase == .connected })
    #expect(time <= 5, "found by the burst, as in test 1 of the seed: \(time)")
  }

  @Test func `a hold keeps the connection with a ping every 25 s, until it is released`() {
    var harness = BottleHarness.connected(.plan034)
    harness.give(.hold(true))
    harness.give(.hold(true))
    harness.give(.hold(false))
    // With plan 034 the bottle sleeps after 180 s without motion, even if the phone writes.
    harness.pass(150)
    #expect(harness.status.phase == .connected)
    let pings = harness.log.count {
      if case .write(_, _, .command, BottleCommand.ping.bytes) = $0.effect { true } else { false }
    }
    #expect((7...9).contains(pings), "two at the start of the holds, then one every 25 s")
    harness.give(.hold(false))
    harness.pass(100)
    #expect(harness.status.phase != .connected)
  }

  @Test func `a hold counts as use from its start to its end`() {
    var harness = BottleHarness.connected(.plan028)
    // Keeps the bottle awake, as if it were carried about.
    func carry(_ seconds: Int) {
      for _ in 0..<seconds {
        harness.pass(1)
        harness.touch(.moved)
      }
    }
    carry(54)
    harness.give(.hold(true))
    carry(24)
    #expect(harness.status.phase == .connected, "it began shortly before the connection was idle")
    harness.give(.hold(false))
    carry(59)
    #expect(harness.status.phase == .connected)
    carry(2)
    #expect(harness.status.phase != .connected)
  }

  @Test func `without a hold no ping keeps the bottle awake`() {
    var harness = BottleHarness.connected(.plan034)
    harness.pass(120)
    #expect(
      !harness.log.contains {
        if case .write(_, _, .command, BottleCommand.ping.bytes) = $0.effect { true } else { false }
      })
  }

  @Test func `a loss in the background causes no scan, even before it would have disconnected`() {
    var harness = BottleHarness.connected()
    harness.background()
    harness.pass(1)
    harness.log = []
    harness.drop(.reset)
    harness.pass(60)
    #expect(!harness.log.contains { $0.effect == .scan })
    #expect(harness.status.outstanding == [.queuedConnect])
  }

  @Test func `disconnects after 5 s in the background, and not before`() {
    var harness = BottleHarness.connected()
    harness.background()
    harness.pass(4.9)
    #expect(harness.status.phase == .connected)
    harness.pass(0.2)
    #expect(harness.status.phase == .disconnected)
    #expect(harness.status.outstanding == [.queuedConnect])
  }

  @Test func `only the queued connect wakes a suspended app`() throws {
    var harness = BottleHarness.connected(.plan035)
    harness.background()
    harness.pass(40_000)
    #expect(harness.isSuspended)
    harness.touch(.moved)
    harness.touch(.poured(250))
    _ = try #require(harness.wait(60) { $0.stored == [1] })
  }

  @Test func `a loss just before the app is suspended leaves a connect outstanding`() {
    var harness = BottleHarness.connected()
    harness.isInBackground = true
    harness.runsUntil = harness.now.advanced(by: .milliseconds(50))
    harness.drop(.reset)
    harness.grant = .milliseconds(5)
    harness.pass(0.5)
    #expect(harness.isSuspended)
    #expect(harness.model.isHeldBySystem)
  }

  @Test(arguments: [
    (AdapterState.off, BottleRefreshResult.bluetoothOff),
    (.unauthorised, .bluetoothUnavailable), (.unsupported, .bluetoothUnavailable),
  ])
  func `tries nothing without the adapter, and resumes on its return`(
    state: AdapterState, result: BottleRefreshResult
  ) throws {
    var harness = BottleHarness.connected()
    harness.adapter(state)
    #expect(harness.status.phase == .disconnected)
    #expect(harness.status.outstanding == [.adapter])
    harness.give(.refresh(1))
    #expect(harness.updates.contains(.refreshed(1, result)))
    harness.pass(100)
    harness.adapter(.on)
    harness.touch(.moved)
    _ = try #require(harness.wait(15) { $0.status.phase == .connected })
  }

  @Test(arguments: [AdapterState.resetting, .unknown])
  func `a restart of the adapter voids every pending connect`(state: AdapterState) throws {
    var harness = BottleHarness.wanted()
    harness.pass(10)
    harness.adapter(state)
    #expect(harness.status.outstanding == [.adapter])
    harness.log = []
    harness.adapter(.on)
    #expect(Self.arms(harness) == 1)
  }

  @Test func `a restored connected bottle is discovered and subscribed again`() {
    var harness = BottleHarness.connected()
    let attempt = harness.model.link.currentAttempt
    #expect(attempt != nil)
    // The system keeps the connection while the app is not running.
    harness.kill(keeping: true)
    harness.launch(restoring: [RestoredPeripheral(BottleHarness.id, isConnected: true)])
    harness.pass(1)
    #expect(harness.status.phase == .connected)
    #expect(harness.log.contains { if case .discover = $0.effect { true } else { false } })
  }

  @Test func `requests a restored pending connect again`() throws {
    var harness = BottleHarness.wanted()
    harness.pass(10)
    harness.kill(keeping: true)
    harness.log = []
    harness.launch(restoring: [RestoredPeripheral(BottleHarness.id, isConnected: false)])
    #expect(Self.arms(harness) == 1)
  }

  @Test func `restoring nothing is a launch like any other`() {
    var harness = BottleHarness.wanted()
    harness.kill(keeping: false)
    harness.launch(restoring: [])
    #expect(harness.status.outstanding == [.scan, .queuedConnect])
  }

  @Test func `late and repeated callbacks change nothing`() throws {
    var harness = BottleHarness.connected()
    let current = try #require(harness.model.link.currentAttempt)
    let before = harness.status
    for number in 1..<current.number {
      harness.give(.central(.connected(AttemptID(number))))
      harness.give(.central(.failed(AttemptID(number), .reset)))
      harness.give(.central(.disconnected(AttemptID(number), .reset)))
      harness.give(.undiscovered(AttemptID(number), .reset))
      harness.give(.heard(AttemptID(number), .brokenChunk(detail: "late"), at: harness.wall))
    }
    harness.give(.central(.connected(current)))
    harness.give(
      .discovered(current, longestValue: 20, harness.bottle.state, at: harness.wall))
    #expect(harness.status == before)
    #expect(harness.isLinked)
  }

  @Test func `a failed connect after a burst leaves the queued connect armed`() {
    var harness = BottleHarness.wanted()
    harness.give(.central(.found(BottleHarness.id, name: nil)))
    #expect(harness.status.phase == .connecting)
    harness.pass(10)
    #expect(harness.status.outstanding == [.queuedConnect])
  }

  @Test func `a stop leaves nothing outstanding, and a start begins again`() {
    var harness = BottleHarness.wanted()
    harness.give(.stop)
    #expect(harness.status.outstanding == [])
    #expect(harness.model.isStopped)
    #expect(harness.model.deadline == nil)
    harness.give(.start)
    #expect(harness.status.outstanding == [.scan, .queuedConnect])
  }

  @Test func `scans for another bottle once it was chosen`() {
    var harness = BottleHarness.connected()
    harness.give(.choose(nil))
    #expect(harness.status.outstanding == [.scan, .queuedScan])
    harness.give(.choose(KnownBottle(PeripheralID(UUID128(high: 1, low: 1)))))
    #expect(harness.status.outstanding == [.scan, .queuedConnect])
  }

  @Test func `a policy with a preparation time opens a link without one`() throws {
    let policy = try LinkPolicy.bottleLink.setting([("establish.prepare", "5s")])
    var harness = BottleHarness.wanted(policy: policy)
    harness.touch(.moved)
    harness.touch(.stands(true))
    harness.pass(4)
    #expect(harness.status.phase == .connected)
  }

  @Test func `the same inputs make the same effects`() {
    func run() -> [BottleModel.Effect] {
      var harness = BottleHarness.wanted()
      harness.touch(.moved)
      harness.touch(.poured(100))
      harness.pass(100)
      return harness.log.map(\.effect)
    }
    #expect(run() == run())
  }
}
