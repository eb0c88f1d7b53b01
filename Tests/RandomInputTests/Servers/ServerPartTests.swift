import LinkCore
import LinkWire
import Testing

@testable import LinkServerCore

/// Random calls to the parts of servers, beside what is true of them by definition.
@Suite struct ServerPartTests {
  private static let seeds = Array(UInt64(0)..<40)

  private func broken(_ value: some SelfChecking) -> [String] {
    var check = InvariantCheck(.thorough)
    value.check(&check)
    return check.broken
  }

  @Test(arguments: seeds)
  func `an alarm queue rings the earliest alarm that is set`(seed: UInt64) {
    var draw = PolicyDraw(chance: Chance(seed: seed))
    var queue = AlarmQueue<Int>()
    var alarms: [Int: Instant] = [:]
    for _ in 0..<300 {
      let (key, at) = (draw.number(0...9), Instant.second(Double(draw.number(0...20))))
      switch draw.number(0...3) {
      case 0, 1:
        queue.set(key, at: at)
        alarms[key] = at
      case 2:
        queue.clear(key)
        alarms[key] = nil
      case _:
        let first = alarms.min { ($0.value, $0.key) < ($1.value, $1.key) }
        let due = first.flatMap { $0.value <= at ? $0.key : nil }
        #expect(queue.take(dueAt: at) == due)
        if let due { alarms[due] = nil }
      }
      #expect(queue.first == alarms.values.min())
      #expect(queue.rings(key, by: at) == (alarms[key].map { $0 <= at } ?? false))
      #expect(broken(queue) == [])
    }
  }

  @Test(arguments: seeds)
  func `a rate lets no more pass than its burst and its interval`(seed: UInt64) {
    var draw = PolicyDraw(chance: Chance(seed: seed))
    let (burst, bound) = (draw.number(1...4), draw.number(1...3))
    let interval = Duration.milliseconds(draw.number(1...50))
    var rate = PostRate(interval: interval, burst: burst, bound: bound)
    var now = Instant.zero
    var passes: [String: [Instant]] = [:]
    for _ in 0..<300 {
      now = now.advanced(by: .milliseconds(draw.number(0...30)))
      let user = draw.one(["u", "v", "w", "x"])
      if let wait = rate.spend(user, at: now) {
        #expect(wait > .zero && wait <= interval * burst)
      } else {
        passes[user, default: []].append(now)
      }
      #expect(broken(rate) == [])
    }
    for instants in passes.values {
      for (place, first) in instants.enumerated() {
        let later = instants.dropFirst(place + burst).enumerated()
        // The burst is spent, and each pass after it needs an interval more.
        #expect(
          later.allSatisfy { first.duration(to: $0.element) >= interval * ($0.offset + 1) })
      }
    }
  }

  @Test(arguments: seeds)
  func `an address is locked out for its own wrong pairs, and not for longer`(seed: UInt64) {
    var draw = PolicyDraw(chance: Chance(seed: seed))
    var policy = RelayServerPolicy()
    (policy.wrongPairs, policy.wrongWindow) = (draw.number(1...4), .seconds(draw.number(1...9)))
    (policy.lockOut, policy.wrongInterval) = (.seconds(draw.number(1...9)), .milliseconds(100))
    (policy.wrongBurst, policy.floodWrongPairs) = (draw.number(1...20), 1)
    policy.maxWatchedAddresses = draw.one([2, 100])
    var lockOut = LockOut(policy, at: .zero)
    var now = Instant.zero
    var wrong: [String: [Instant]] = [:]
    for _ in 0..<300 {
      now = now.advanced(by: .milliseconds(draw.number(0...1_500)))
      let address = draw.one(["a", "b", "c", "00000000000000aa"])
      let wait = lockOut.wait(address, at: now)
      #expect(wait.map { $0 > .zero && $0 <= max(policy.lockOut, policy.wrongInterval) } ?? true)
      if policy.maxWatchedAddresses > 4, wrong[address] == nil { #expect(wait == nil) }
      if wait == nil, draw.oneIn(2) {
        lockOut.wrong(address, at: now)
        wrong[address, default: []].append(now)
        let recent = wrong[address, default: []].filter {
          $0.duration(to: now) < policy.wrongWindow
        }
        if policy.maxWatchedAddresses > 4, recent.count >= policy.wrongPairs {
          #expect(lockOut.wait(address, at: now) == policy.lockOut)
        }
        if lockOut.wait(address, at: now) != nil { wrong[address] = [] }
      }
      #expect(broken(lockOut) == [])
    }
  }

  @Test(arguments: seeds)
  func `a pair leads to the phone that shows it, and to no other`(seed: UInt64) {
    var draw = PolicyDraw(chance: Chance(seed: seed))
    var pairs = RelayPairs()
    var shown: [PhoneID: RelayPair] = [:]
    for _ in 0..<200 {
      let phone = PhoneID(UUID128(high: 0, low: UInt64(draw.number(0...4))))
      let pair = RelayPair(code: "00000\(draw.number(0...3))", word: draw.one(["ab-cd", "abc-d"]))
      let text = { (pair: RelayPair) in pair.word.filter { $0 != "-" } + pair.code }
      let owner = shown.first { text($0.value) == text(pair) }?.key
      #expect(pairs.owner(word: pair.word.uppercased(), code: pair.code) == owner)
      if draw.oneIn(3) {
        pairs.remove(phone)
        shown[phone] = nil
      } else {
        #expect(pairs.show(pair, of: phone, until: .zero) == (owner == nil))
        if owner == nil { shown[phone] = pair }
      }
      #expect(broken(pairs) == [])
    }
  }

  @Test(arguments: seeds)
  func `a table of sessions keeps who is signed in and forgets who is idle`(seed: UInt64) {
    var draw = PolicyDraw(chance: Chance(seed: seed))
    let bound = draw.number(1...3)
    var table = SessionTable(bound: bound, idle: .seconds(9))
    var now = Instant.zero
    let token = TokenHash([UInt8](repeating: 1, count: 32))
    for step in 0..<200 {
      now = now.advanced(by: .seconds(draw.number(0...3)))
      table.expire(at: now)
      #expect(table.all.allSatisfy { now < $0.value.lastUsed.advanced(by: .seconds(9)) })
      let signedIn = table.all.filter { $0.value.bearer != nil }.keys
      let name = table.all.keys.sorted().first ?? "none"
      switch draw.number(0...4) {
      case 0...1:
        let isIn = table.insert("s\(step)", .newestWithSessions, at: now)
        #expect(isIn || signedIn.count == bound)
        #expect(signedIn.allSatisfy { table[$0] != nil })
      case 2: table.signIn(name, token)
      case 3: table.showedToken(name)
      case _: table.touch(name, at: now)
      }
      #expect(broken(table) == [])
    }
  }
}
