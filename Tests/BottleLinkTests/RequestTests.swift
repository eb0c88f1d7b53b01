import BottleFirmware
import LinkStorage
import LinkWire
import Testing
import VirtualBottle

@testable import BottleLink
@testable import LinkCore

/// Tests of refreshes with their results, and of commands.
@Suite struct BottleRequestTests {
  private static func result(
    _ bench: inout BottleBench, within seconds: Double = 16
  ) -> BottleRefreshResult? {
    bench.give(.refresh(1))
    bench.pass(seconds)
    return bench.updates.lazy.compactMap {
      if case .refreshed(1, let result) = $0 { result } else { nil }
    }.first
  }

  @Test func `a refresh that finds drinks reports how many`() {
    var bench = BottleBench.wanted()
    bench.pass(30)
    bench.touch(.moved)
    bench.touch(.poured(40))
    bench.touch(.poured(40))
    #expect(Self.result(&bench) == .synced(2))
  }

  @Test func `a refresh with nothing new reports so, connected or not`() {
    var bench = BottleBench.wanted()
    bench.pass(30)
    bench.touch(.moved)
    #expect(Self.result(&bench, within: 5) == .alreadySynced)
    var connected = BottleBench.connected()
    #expect(Self.result(&connected, within: 0) == .alreadySynced)
  }

  @Test func `reports a sleeping bottle after 15 s, of which it scanned for 10`() {
    var bench = BottleBench.wanted()
    bench.pass(30)
    bench.log = []
    let start = bench.seconds
    bench.give(.refresh(1))
    bench.pass(14.9)
    #expect(!bench.updates.contains(.refreshed(1, .bottleAsleep)))
    bench.pass(0.1)
    #expect(bench.updates.contains(.refreshed(1, .bottleAsleep)))
    let last = bench.log.last { if case .stopScan = $0.effect { true } else { false } }
    #expect(last.map { ($0.at - start).rounded() } == 10)
    #expect(bench.status.outstanding == [.queuedConnect])
  }

  @Test func `a refresh ends at once without Bluetooth`() {
    var off = BottleBench.wanted()
    off.adapter(.off)
    #expect(Self.result(&off, within: 0) == .bluetoothOff)
    var denied = BottleBench.wanted()
    denied.adapter(.unauthorised)
    #expect(Self.result(&denied, within: 0) == .bluetoothUnavailable)
  }

  @Test func `reports a bottle that is found but does not connect`() {
    var bench = BottleBench.wanted()
    bench.pass(30)
    bench.give(.refresh(1))
    bench.give(.central(.found(BottleBench.id, name: nil)))
    bench.pass(16)
    #expect(bench.updates.contains(.refreshed(1, .connectionFailed)))
  }

  @Test func `reports drinks that cannot be stored`() {
    var bench = BottleBench.wanted()
    bench.storeFailure = .full(detail: "full")
    bench.pass(30)
    bench.touch(.moved)
    bench.touch(.poured(40))
    #expect(Self.result(&bench, within: 30) == .syncFailed)
  }

  @Test func `commands wait for a connection and are answered`() {
    var bench = BottleBench.wanted()
    bench.pass(30)
    bench.give(.perform(1, .command(.tare)))
    bench.give(.perform(2, .settings(BottleSwitches(shakeToEmpty: false))))
    bench.touch(.moved)
    bench.pass(5)
    #expect(bench.updates.contains(.performed(1, .done)))
    #expect(bench.updates.contains(.performed(2, .done)))
    #expect(bench.bottle.bottle.level == 0)
    #expect(bench.bottle.bottle.shakeToEmpty == false)
  }

  @Test func `does not send invalid requests`() {
    var bench = BottleBench.connected()
    bench.give(.perform(1, .configuration(BottleConfiguration(scale: 99, tare: 0))))
    #expect(
      bench.updates == [.performed(1, .invalid("the scale factor must be 100 to 800"))])
    #expect(bench.log.count == 1)
  }

  @Test func `reports a refusal by the bottle`() {
    var bench = BottleBench.connected()
    bench.give(.perform(1, .command(.motions(chunk: 0))))
    bench.pass(1)
    #expect(bench.updates.contains(.performed(1, .refused)))
    #expect(bench.status.phase == .connected)
  }

  @Test func `a command to a sleeping bottle is not sent later`() {
    var bench = BottleBench.wanted()
    bench.pass(30)
    bench.give(.perform(1, .command(.tare)))
    bench.pass(16)
    #expect(bench.updates.contains(.performed(1, .notSent(.bottleAsleep))))
    bench.touch(.moved)
    bench.pass(30)
    #expect(bench.bottle.bottle.level == 600)
  }

  @Test func `a deletion is confirmed by the bottle's state, and marked in the store`() {
    var bench = BottleBench.connected()
    bench.touch(.poured(40))
    bench.pass(3)
    bench.give(.perform(1, .command(.delete(1))))
    bench.pass(2)
    #expect(bench.updates.contains(.performed(1, .done)))
    #expect(bench.store.drinks(before: nil, limit: 9).map(\.isDeleted) == [true])
  }

  @Test func `reports a deletion that nothing confirms within 5 s`() {
    var bench = BottleBench.connected()
    bench.touch(.poured(40))
    bench.pass(3)
    bench.dropped = Set(bench.notified + 1...bench.notified + 9)
    bench.give(.perform(1, .command(.delete(1))))
    bench.pass(4.9)
    #expect(!bench.updates.contains(.performed(1, .unconfirmed)))
    bench.pass(0.2)
    #expect(bench.updates.contains(.performed(1, .unconfirmed)))
  }

  @Test func `does not send a command again that was in flight when the connection broke`() {
    var bench = BottleBench.connected()
    bench.give(.perform(1, .command(.tare)))
    bench.drop(.reset)
    bench.pass(30)
    #expect(bench.updates.contains(.performed(1, .unconfirmed)))
  }

  @Test func `32 requests may wait, and the next is refused`() {
    var bench = BottleBench.wanted()
    bench.pass(30)
    for number: UInt64 in 1...32 { bench.give(.perform(number, .command(.ping))) }
    #expect(!bench.updates.contains(.performed(32, .notSent(.connectionFailed))))
    bench.give(.perform(33, .command(.ping)))
    #expect(bench.updates.contains(.performed(33, .notSent(.connectionFailed))))
  }

  @Test func `a program that only sends commands leaves the drinks to another program`() {
    var bench = BottleBench(.plan035) { $0.syncs = false }
    bench.launch()
    bench.touch(.moved)
    bench.touch(.poured(40))
    bench.give(.perform(1, .command(.ping)))
    bench.pass(20)
    #expect(bench.updates.contains(.performed(1, .done)))
    #expect(bench.stored == [])
    #expect(bench.bottle.bottle.unsynced == 1)
  }

  @Test func `a command that waits during a connection causes no early ping`() throws {
    var hand = try Hand.ready {
      ($0.scanTime, $0.requestTime) = (.seconds(30), .seconds(60))
    }
    hand.give(.hold(true))
    hand.give(.perform(1, .command(.ping)))
    let last = hand.write
    hand.pass(.seconds(11))
    hand.give(.shown(through: 9))
    #expect(hand.write == last)
  }
}

/// Tests that each invariant of a bottle's link can fail.
@Suite struct BottleInvariantTests {
  struct Planted: Sendable {
    let name: String
    let plant: @Sendable (inout BottleModel) -> Void
    let isConnected: Bool

    init(
      _ name: String, connected: Bool = true,
      _ plant: @escaping @Sendable (inout BottleModel) -> Void
    ) {
      (self.name, isConnected, self.plant) = (name, connected, plant)
    }
  }

  static let all = [
    Planted("bottle link: something is outstanding while it is wanted", connected: false) {
      $0.queue = nil
      $0.burst = nil
      $0.adapter = .on
    },
    Planted("bottle link: the connection belongs to the present attempt") {
      $0.connection = BottleModel.Connection(attempt: AttemptID(999))
    },
    Planted("bottle link: the burst belongs to the present attempt") {
      $0.burst = BottleModel.Burst(attempt: AttemptID(999))
    },
    Planted("bottle link: nothing is looked for while connected") {
      $0.burst = BottleModel.Burst(attempt: AttemptID(1))
    },
    Planted("bottle link: drinks are fetched only while connected", connected: false) {
      $0.sync.begin(until: .zero)
    },
    Planted("bottle link: connected means that all services were discovered") {
      $0.connection?.longestValue = 0
    },
    Planted("bottle link: requests are bounded") {
      let entry = Requests.Entry(id: 1, request: nil, scanUntil: .zero, until: .zero)
      $0.requests.entries = Array(repeating: entry, count: 33)
    },
    Planted("bottle link: holds are counted") { $0.holds = -1 },
    Planted("bottle link: the user is shown the present state") { $0.shown.adapter = .off },
    Planted("drink sync: what was added is counted") { $0.sync.added = -1 },
    Planted("link: it is idle exactly while it is not wanted") { $0.link.gate.intent = .none },
  ]

  @Test(arguments: all)
  func `detects a broken invariant`(_ planted: Planted) {
    var bench = planted.isConnected ? BottleBench.connected() : BottleBench.wanted()
    if !planted.isConnected { bench.pass(30) }
    var model = bench.model
    #expect(model.brokenInvariants(.thorough) == [])
    planted.plant(&model)
    #expect(model.brokenInvariants(.thorough).contains(planted.name))
  }

  @Test func `nothing is outstanding once the link has failed`() {
    var bench = BottleBench.wanted()
    bench.pass(30)
    var model = bench.model
    _ = model.link.handle(.credentials(.cleared), at: bench.now)
    (model.queue, model.burst) = (nil, nil)
    model.shown = model.observed
    #expect(model.link.isWanted)
    #expect(model.link.status.phase == .failed)
    #expect(model.brokenInvariants(.thorough) == [])
  }
}
