import LinkCore
import LinkWire

@testable import MessageStream

/// Hours of random trouble from one seed, then calm, in which everything must become whole.
struct Torture {
  private(set) var world: StreamWorld
  private var said = 0
  private var sent = 0
  private var chance: Chance

  init(_ kind: Shop.Kind, seed: UInt64) {
    var chance = Chance(seed: seed)
    world = StreamWorld(kind, seed: seed) { settings in
      settings.catchUpPage = [5, 20, 100].randomElement(using: &chance) ?? 100
      settings.historyPage = [5, 20, 50].randomElement(using: &chance) ?? 50
      settings.memory = [30, 200, 1000].randomElement(using: &chance) ?? 1000
    }
    world.phone.tokenLife = Bool.random(using: &chance) ? .seconds(1800) : nil
    world.net.loss = Bool.random(using: &chance) ? 0.03 : 0
    world.net.twice = 0.05
    world.net.slow = 0.02
    world.net.overtaking = Bool.random(using: &chance) ? 0.1 : 0
    world.shop.ignoresSince = kind == .plain && seed % 5 == 0
    world.shop.sortsByStamp = seed % 3 != 0
    world.shop.arrears = [100, 100, 3, nil][Int(seed % 4)]
    self.chance = chance
  }

  /// The whole story; answers with what was wrong.
  mutating func run(actions: Int = 70) -> [String] {
    world.accumulate(Int.random(in: 0..<80, using: &chance), named: "old")
    world.launch()
    for _ in 0..<actions {
      act()
      world.pass(pause())
    }
    calmDown()
    return world.ledger.problems
  }

  private mutating func pause() -> Duration {
    switch Int.random(in: 0..<20, using: &chance) {
    case 0: .seconds(Int.random(in: 600..<5400, using: &chance))
    case 1...5: .seconds(Int.random(in: 5..<120, using: &chance))
    case _: chance.duration(below: .seconds(2))
    }
  }

  private mutating func act() {
    switch Int.random(in: 0..<100, using: &chance) {
    case 0..<30: talk()
    case 30..<40: use()
    case 40..<52: troubleNetwork()
    case 52..<66: troubleServer()
    case 66..<80: troubleApp()
    case 80..<88: troubleStore()
    case _: heal()
    }
  }

  private mutating func talk() {
    for _ in 0..<([1, 1, 2, 5, 30].randomElement(using: &chance) ?? 1) {
      said += 1
      let late = chance.unit() < 0.1 ? chance.duration(below: .seconds(100)) : .zero
      world.say("other \(said)", late: late, silently: false)
    }
  }

  private mutating func use() {
    guard world.phone.isRunning, !world.phone.isSuspended else { return }
    switch Int.random(in: 0..<8, using: &chance) {
    case 0..<4:
      sent += 1
      world.send("own \(sent)")
    case 4: world.give(.refresh)
    case 5: world.give(.loadOlder)
    case 6: world.give(.realtime(false))
    case _: world.give(.realtime(true))
    }
  }

  private mutating func troubleNetwork() {
    switch Int.random(in: 0..<6, using: &chance) {
    case 0: world.cut()
    case 1: world.halfOpen()
    case 2: world.change(to: .unreachable)
    case 3: world.change(to: .reachable(path: PathID("path\(said)")))
    case 4: world.net.isBlackHole = true
    case _: world.cut(.closed(code: 1012, reason: "restart"))
    }
  }

  private mutating func troubleServer() {
    switch Int.random(in: 0..<12, using: &chance) {
    case 0:
      world.cut()
      world.shop.isDown = true
    case 1: world.shop.restStatus = .http(status: 503, retryAfter: .seconds(20), detail: "")
    case 2: world.shop.restStatus = .http(status: 500, retryAfter: nil, detail: "")
    case 3: world.shop.restStatus = .http(status: 429, retryAfter: .seconds(3), detail: "")
    case 4: world.shop.upgradeStatus = .http(status: 503, retryAfter: nil, detail: "")
    case 5: world.shop.upgradeStatus = .http(status: 404, retryAfter: nil, detail: "")
    case 6: world.server.isMember = false
    case 7, 8: expireTokens()
    case 9:
      said += 1
      world.say("big \(said)", silently: true)
      world.sendDown { .oversized($0, bytes: 20_000) }
    case 10:
      for _ in 0..<Int.random(in: 1...5, using: &chance) {
        world.sendDown { .frame($0, .malformed(.missing(field: "id"))) }
      }
    case _:
      if world.shop.kind == .ours, chance.unit() < 0.3 {
        world.shop.beginAnew()
        world.cut()
      }
    }
  }

  private mutating func expireTokens() {
    world.server.newestToken += 1
    world.server.oldestToken = world.server.newestToken
    world.phone.refresh =
      [.works, .works, .works, .fails, .isRefused, .hangs].randomElement(using: &chance) ?? .works
  }

  private mutating func troubleApp() {
    switch Int.random(in: 0..<8, using: &chance) {
    case 0, 1:
      world.kill()
      if Bool.random(using: &chance) { world.pass(pause()) }
      world.relaunch()
    case 2, 3: world.background()
    case 4:
      world.background()
      world.suspend()
    case 5: world.give(.close)
    case _:
      wakeUp()
    }
  }

  private mutating func troubleStore() {
    switch Int.random(in: 0..<4, using: &chance) {
    case 0: world.disk.failure = .full(detail: "")
    case 1: world.disk.failure = .locked(detail: "")
    case 2: world.disk.delay = .seconds(2)
    case _: world.disk.delay = .milliseconds(2)
    }
  }

  private mutating func wakeUp() {
    if world.phone.isSuspended { world.resume() }
    world.foreground()
    world.give(.open(at: world.wall))
  }

  private mutating func heal() {
    switch Int.random(in: 0..<4, using: &chance) {
    case 0: wakeUp()
    case 1: healNetwork()
    case 2: healServer()
    case _: world.disk.failure = nil
    }
  }

  private mutating func healNetwork() {
    world.net.isBlackHole = false
    if !world.net.isReachable { world.change(to: .reachable(path: PathID("wlan0"))) }
  }

  private mutating func healServer() {
    world.shop.isDown = false
    world.shop.restStatus = nil
    world.shop.upgradeStatus = nil
    world.server.isMember = true
    world.phone.refresh = .works
  }

  private mutating func calmDown() {
    world.net.loss = 0
    world.net.slow = 0
    healNetwork()
    healServer()
    world.disk.failure = nil
    world.disk.delay = .milliseconds(2)
    wakeUp()
    world.phone.token = world.server.newestToken
    world.give(.credentials(.available(expiresIn: nil)))
    world.give(.realtime(true))
    world.give(.open(at: world.wall))
    world.pass(.seconds(5))
    world.give(.open(at: world.wall))  // an old answer may have ended it once more
    if !world.drive(within: .seconds(3600), until: { $0.status.state == .connected }) {
      world.ledger.blame("never connected: \(world.status)")
    }
    world.say("the last word")
    for _ in 0..<3 {
      retryFailed()
      world.drive(within: .seconds(300)) { $0.model.outbox.entries.isEmpty }
    }
    if !world.model.outbox.entries.isEmpty {
      world.ledger.blame("never sent: \(world.model.outbox)")
    }
    world.pass(.seconds(130))
    world.scrollToTheBeginning()
    world.ledger.settle(with: world.shop.ordered, isWholeLog: !world.shop.hasBegunAnew)
    checkOwn()
    world.give(.close)
    world.pass(.seconds(1))
    if let deadline = world.model.deadline {
      world.ledger.blame("closed, and still waits: \(deadline)")
    }
  }

  private mutating func retryFailed() {
    for entry in world.model.outbox.entries {
      if case .failed = entry.state { world.give(.retry(entry.id)) }
    }
  }

  private mutating func checkOwn() {
    for number in 1..<(sent + 1) {
      let text = "own \(number)"
      let count = world.accepted[text] ?? 0
      // What a kill took before it was stored was never promised.
      let least = world.disk.promised.contains(text) ? 1 : 0
      if !(least...1).contains(count) {
        world.ledger.blame("own \(number) reached the server \(count) times")
      }
    }
  }
}
