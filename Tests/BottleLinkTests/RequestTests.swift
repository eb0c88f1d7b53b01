import HoldfastBottleData
import HoldfastFirmware
import HoldfastVirtualBottle
import Testing

@testable import HoldfastBottleLink
@testable import HoldfastCore

/// Tests of refreshes, their results, and commands.
@Suite struct BottleRequestTests {
  private static func result(
    _ harness: inout BottleHarness, within seconds: Double = 16
  ) -> BottleRefreshResult? {
    harness.give(.refresh(1))
    harness.pass(seconds)
    return harness.updates.lazy.compactMap {
      if case .refreshed(1, let result) = $0 { result } else { nil }
    }.first
  }

  @Test func `a refresh that finds drinks reports how many`() {
    var harness = BottleHarness.wanted()
    harness.pass(30)
    harness.touch(.moved)
    harness.touch(.poured(40))
    harness.touch(.poured(40))
    #expect(Self.result(&harness) == .synced(2))
  }

  @Test func `a refresh with nothing new reports so, connected or not`() {
    var harness = BottleHarness.wanted()
    harness.pass(30)
    harness.touch(.moved)
    #expect(Self.result(&harness, within: 5) == .alreadySynced)
    var connected = BottleHarness.connected()
    #expect(Self.result(&connected, within: 0) == .alreadySynced)
  }

  @Test func `reports a sleeping bottle after 15 s, of which it scanned for 10`() {
    var harness = BottleHarness.wanted()
    harness.pass(30)
    harness.log = []
    let start = harness.seconds
    harness.give(.refresh(1))
    harness.pass(14.9)
    #expect(!harness.updates.contains(.refreshed(1, .bottleAsleep)))
    harness.pass(0.1)
    #expect(harness.updates.contains(.refreshed(1, .bottleAsleep)))
    let last = harness.log.last { if case .stopScan = $0.effect { true } else { false } }
    #expect(last.map { ($0.at - start).rounded() } == 10)
    #expect(harness.status.outstanding == [.queuedConnect])
  }

  @Test func `a refresh ends at once without Bluetooth`() {
    var off = BottleHarness.wanted()
    off.adapter(.off)
    #expect(Self.result(&off, within: 0) == .bluetoothOff)
    var denied = BottleHarness.wanted()
    denied.adapter(.unauthorised)
    #expect(Self.result(&denied, within: 0) == .bluetoothUnavailable)
  }

  @Test func `reports a bottle that is found but does not connect`() {
    var harness = BottleHarness.wanted()
    harness.pass(30)
    harness.give(.refresh(1))
    harness.give(.central(.found(BottleHarness.id, name: nil)))
    harness.pass(16)
    #expect(harness.updates.contains(.refreshed(1, .connectionFailed)))
  }

  @Test func `reports drinks that cannot be stored`() {
    var harness = BottleHarness.wanted()
    harness.storeFailure = .full(detail: "full")
    harness.pass(30)
    harness.touch(.moved)
    harness.touch(.poured(40))
    #expect(Self.result(&harness, within: 30) == .syncFailed)
  }

  @Test func `commands wait for a connection and are answered`() {
    var harness = BottleHarness.wanted()
    harness.pass(30)
    harness.give(.perform(1, .command(.tare)))
    harness.give(.perform(2, .settings(BottleSwitches(shakeToEmpty: false))))
    harness.touch(.moved)
    harness.pass(5)
    #expect(harness.updates.contains(.performed(1, .done)))
    #expect(harness.updates.contains(.performed(2, .done)))
    #expect(harness.bottle.bottle.level == 0)
    #expect(harness.bottle.bottle.shakeToEmpty == false)
  }

  @Test func `does not send invalid requests`() {
    var harness = BottleHarness.connected()
    harness.give(.perform(1, .configuration(BottleConfiguration(scale: 99, tare: 0))))
    #expect(
      harness.updates == [.performed(1, .invalid("the scale factor must be 100 to 800"))])
    #expect(harness.log.count == 1)
  }

  @Test func `reports a refusal by the bottle`() {
    var harness = BottleHarness.connected()
    harness.give(.perform(1, .command(.motions(chunk: 0))))
    harness.pass(1)
    #expect(harness.updates.contains(.performed(1, .refused)))
    #expect(harness.status.phase == .connected)
  }

  @Test func `a command to a sleeping bottle is not sent later`() {
    var harness = BottleHarness.wanted()
    harness.pass(30)
    harness.give(.perform(1, .command(.tare)))
    harness.pass(16)
    #expect(harness.updates.contains(.performed(1, .notSent(.bottleAsleep))))
    harness.touch(.moved)
    harness.pass(30)
    #expect(harness.bottle.bottle.level == 600)
  }

  @Test func `a deletion is confirmed by the bottle's state, and marked in the store`() {
    var harness = BottleHarness.connected()
    harness.touch(.poured(40))
    harness.pass(3)
    harness.give(.perform(1, .command(.delete(1))))
    harness.pass(2)
    #expect(harness.updates.contains(.performed(1, .done)))
    #expect(harness.store.drinks(before: nil, limit: 9).map(\.isDeleted) == [true])
  }

  @Test func `reports a deletion that nothing confirms within 5 s`() {
    var harness = BottleHarness.connected()
    harness.touch(.poured(40))
    harness.pass(3)
    harness.dropped = Set(harness.notified + 1...harness.notified + 9)
    harness.give(.perform(1, .command(.delete(1))))
    harness.pass(4.9)
    #expect(!harness.updates.contains(.performed(1, .unconfirmed)))
    harness.pass(0.2)
    #expect(harness.updates.contains(.performed(1, .unconfirmed)))
  }

  @Test func `does not send a command again that was in flight when the connection broke`() {
    var harness = BottleHarness.connected()
    harness.give(.perform(1, .command(.tare)))
    harness.drop(.reset)
    harness.pass(30)
    #expect(harness.updates.contains(.performed(1, .unconfirmed)))
  }

  @Test func `32 requests may wait, and the next is refused`() {
    var harness = BottleHarness.wanted()
    harness.pass(30)
    for number: UInt64 in 1...32 { harness.give(.perform(number, .command(.ping))) }
    #expect(!harness.updates.contains(.performed(32, .notSent(.connectionFailed))))
    harness.give(.perform(33, .command(.ping)))
    #expect(harness.updates.contains(.performed(33, .notSent(.connectionFailed))))
  }

  @Test func `a program that only sends commands leaves the drinks to another program`() {
    var harness = BottleHarness(.plan035) { $0.syncs = false }
    harness.launch()
    harness.touch(.moved)
    harness.touch(.poured(40))
    harness.give(.perform(1, .command(.ping)))
    harness.pass(20)
    #expect(harness.updates.contains(.performed(1, .done)))
    #expect(harness.stored == [])
    #expect(harness.bottle.bottle.unsynced == 1)
  }

  @Test func `a command that waits during a connection causes no early ping`() throws {
    var harness = try Harness.ready {
      ($0.scanTime, $0.requestTime) = (.seconds(30), .seconds(60))
    }
    harness.give(.hold(true))
    harness.give(.perform(1, .command(.ping)))
    let last = harness.write
    harness.pass(.seconds(11))
    harness.give(.shown(through: 9))
    #expect(harness.write == last)
  }
}

/// Tests that each invariant check of a bottle's link detects a broken state.
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
      $0.search = BottleModel.Search()
      $0.adapter = .on
    },
    Planted("bottle link: the connection belongs to the present attempt") {
      $0.connection = BottleModel.Connection(attempt: AttemptID(999))
    },
    Planted("bottle link: the burst belongs to the present attempt") {
      $0.search.burst = BottleModel.Burst(attempt: AttemptID(999))
    },
    Planted("bottle link: nothing is looked for while connected") {
      $0.search.burst = BottleModel.Burst(attempt: AttemptID(1))
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
    Planted("bottle link: the user is shown the present state") { $0.shown.adapter = .off },
    Planted("drink sync: what was added is counted") { $0.sync.added = -1 },
    Planted("link: it is idle exactly while it is not wanted") { $0.link.gate.intent = .none },
  ]

  @Test(arguments: all)
  func `detects a broken invariant`(_ planted: Planted) {
    var harness = planted.isConnected ? BottleHarness.connected() : BottleHarness.wanted()
    if !planted.isConnected { harness.pass(30) }
    var model = harness.model
    #expect(model.brokenInvariants(.thorough) == [])
    planted.plant(&model)
    #expect(model.brokenInvariants(.thorough).contains(planted.name))
  }

  @Test func `nothing is outstanding once the link has failed`() {
    var harness = BottleHarness.wanted()
    harness.pass(30)
    var model = harness.model
    _ = model.link.handle(.credentials(.cleared), at: harness.now)
    model.search = BottleModel.Search()
    model.shown = model.observed
    #expect(model.link.isWanted)
    #expect(model.link.status.phase == .failed)
    #expect(model.brokenInvariants(.thorough) == [])
  }
}
