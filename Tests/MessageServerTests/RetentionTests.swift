import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerParts
import Testing

/// Tests of the rules by which the oldest messages are removed.
@Suite struct RetentionTests {
  private static func time(_ seconds: Int64) -> Timestamp {
    Timestamp(nanoseconds: seconds * 1_000_000_000)
  }

  /// Returns marks of messages with 100 bytes, of which each is a second later.
  private static func marks(_ versions: ClosedRange<UInt64>, without: Set<UInt64> = []) -> [LogMark]
  {
    versions.map { version in
      LogMark(
        version: version, time: without.contains(version) ? nil : time(Int64(version)), bytes: 100,
        isChanged: false)
    }
  }

  @Test(arguments: [(0, 0), (1, 1), (2, 2), (9, 9), (10, 9), (99, 9)] as [(Int64, Int)])
  func `a message is removed at its age, and never the newest post`(expired: Int64, count: Int) {
    let limits = RetentionLimits(age: .seconds(60))
    for (nanoseconds, wanted) in [(0, count), (-1, max(count - (expired > 9 ? 0 : 1), 0))] {
      let now = Self.time(60 + expired).advanced(by: .nanoseconds(nanoseconds))
      let surplus = limits.surplus(
        of: Self.marks(1...10), held: 1_000, isTooLarge: false, newestPost: 10, at: now)
      #expect(surplus == wanted, "\(nanoseconds)")
    }
  }

  @Test(
    arguments: [(1_000, 3), (800, 1), (701, 1), (700, 0), (699, 0), (99_999, 9)] as [(UInt64, Int)])
  func `a log that is too large is shortened to seven eighths of its limit`(
    held: UInt64, count: Int
  ) {
    let limits = RetentionLimits(bytes: 800)
    #expect(limits.target == 700)
    let surplus = limits.surplus(
      of: Self.marks(1...10), held: held, isTooLarge: true, newestPost: 10, at: Self.time(0))
    #expect(surplus == count)
    #expect(
      limits.surplus(
        of: Self.marks(1...10), held: held, isTooLarge: false, newestPost: 10, at: Self.time(0))
        == 0)
  }

  @Test func `deletions are removed with a later event, and not without one`() {
    let limits = RetentionLimits(age: .seconds(60))
    let marks = Self.marks(1...10, without: [1, 2, 4, 5])
    func surplus(_ expired: Int64, known: UInt64 = 0) -> Int {
      limits.surplus(
        of: marks, held: 1_000, isTooLarge: false, newestPost: 10, expired: known,
        at: Self.time(60 + expired))
    }
    #expect(surplus(2) == 0)
    #expect(surplus(3) == 3)
    #expect(surplus(5) == 3)
    #expect(surplus(6) == 6)
    #expect(surplus(2, known: 2) == 2)
  }

  @Test func `single shops have limits of their own`() throws {
    let (bakery, cellar) = (try #require(ShopID("bakery")), try #require(ShopID("cellar")))
    var policy = RetentionPolicy()
    #expect(!policy.isActive)
    var rules = Retention(policy)
    #expect(rules.begin(at: Self.time(0)) == nil)
    policy.age.shops.updateValue(nil, forKey: bakery)
    #expect(!policy.isActive)
    policy.age.usual = .seconds(60)
    policy.bytes.shops.updateValue(9, forKey: bakery)
    #expect(policy.isActive)
    #expect(policy.limits(of: bakery) == RetentionLimits(bytes: 9))
    #expect(policy.limits(of: cellar) == RetentionLimits(age: .seconds(60)))
    #expect(policy.nextLook == policy.sizeInterval)
  }

  // MARK: - Runs

  /// A log in memory, with the rules and the time.
  private struct Stage {
    let shop: ShopID
    var logs = StoredLogs(epoch: "e")
    var rules: Retention
    var seconds: Int64 = 0
    private var count: UInt64 = 0
    /// The steps of the last run.
    private(set) var steps: [Retention.Step] = []

    init(_ policy: RetentionPolicy) throws {
      shop = try #require(ShopID("s"))
      rules = Retention(policy)
    }

    mutating func post(bytes: Int = 44) {
      seconds += 1
      count += 1
      let message = ShopMessage(
        id: UUID128(high: 1, low: count), shop: shop, user: "", username: nil,
        text: String(repeating: "x", count: bytes), createdAt: RetentionTests.time(seconds))
      _ = logs.append(
        .post(LogEntry(message: message, key: UUID128(high: 2, low: count))))
    }

    mutating func edit(_ number: UInt64, bytes: Int = 44) {
      seconds += 1
      let edit = LogEdit(
        id: UUID128(high: 1, low: number), shop: shop,
        text: String(repeating: "y", count: bytes - 1) + "\(seconds % 10)",
        at: RetentionTests.time(seconds), by: LogActor(user: ""))
      _ = logs.append(.edit(edit))
    }

    mutating func delete(_ number: UInt64) {
      seconds += 1
      _ = logs.append(
        .delete(
          LogDeletion(id: UUID128(high: 1, low: number), shop: shop, by: LogActor(user: ""))))
    }

    /// The marks of everything that is kept.
    var marks: [LogMark] { logs[shop].marks(after: 0, limit: .max) }

    /// Plays a run. A message may be edited before each read.
    mutating func run(failing: Bool = false, editing number: UInt64? = nil) {
      steps = []
      var next = rules.begin(at: RetentionTests.time(seconds))
      while let step = next, steps.count < 1_000 {
        steps.append(step)
        if let number, case .marks = step { edit(number) }
        let result: Retention.Answer = failing && steps.count > 1 ? .failed : answer(step)
        next = rules.take(result)
      }
    }

    private mutating func answer(_ step: Retention.Step) -> Retention.Answer {
      switch step {
      case .extents(let shop, let limit): return .extents(logs.extents(after: shop, limit: limit))
      case .marks(let shop, let version, let limit):
        return .marks(logs[shop].marks(after: version, limit: limit))
      case .remove(let cut): return .removed(logs.remove(cut))
      case .tidy(let time):
        logs.forgetKeys(before: time)
        return .tidied(false)
      case .removeTraces: return .tracesRemoved
      }
    }

    var removals: Int { steps.count { if case .remove = $0 { true } else { false } } }
  }

  @Test func `messages are removed at their age, in parts, and then their traces`() throws {
    var policy = RetentionPolicy()
    (policy.age.usual, policy.removedAtOnce, policy.readAtOnce) = (.seconds(10), 3, 4)
    var stage = try Stage(policy)
    for _ in 1...20 { stage.post() }
    stage.run()
    #expect(stage.marks.map(\.version) == Array(11...20))
    #expect(stage.removals == 4)
    #expect(stage.rules.counts.messages == 10)
    #expect(stage.rules.counts.bytes == 3_000)
    #expect(stage.rules.counts.shops == 1)
    #expect(stage.steps.suffix(2).last == .removeTraces)
    stage.run()
    #expect(stage.removals == 0)
    #expect(stage.rules.counts.messages == 0)
    stage.seconds += 100
    stage.run()
    #expect(stage.marks.map(\.version) == [20], "the newest post stays")
    #expect(stage.logs[stage.shop].head.offset == 20)
  }

  @Test func `a log is shortened above its size, not at it, down to seven eighths`() throws {
    var policy = RetentionPolicy()
    policy.bytes.usual = 2_400
    var stage = try Stage(policy)
    for _ in 1...8 { stage.post() }
    stage.run()
    #expect(stage.marks.count == 8)
    stage.post(bytes: 1)
    stage.run()
    #expect(stage.marks.map(\.version) == Array(3...9))
    #expect(stage.marks.reduce(0) { $0 + $1.bytes } <= 2_100)
  }

  @Test func `an edited message counts once`() throws {
    var policy = RetentionPolicy()
    policy.bytes.usual = 3_000
    var stage = try Stage(policy)
    for _ in 1...9 { stage.post() }
    stage.run()
    for _ in 1...30 {
      stage.edit(5)
      stage.run()
    }
    #expect(stage.removals == 0)
    #expect(stage.marks.count == 9)
    for _ in 1...2 { stage.post() }
    stage.run()
    #expect(stage.removals == 1)
    #expect(stage.marks.map(\.version) == [4, 6, 7, 8, 9, 39, 40, 41])
  }

  @Test func `many deletions at the beginning do not keep what follows them`() throws {
    var policy = RetentionPolicy()
    (policy.age.usual, policy.removedAtOnce) = (.seconds(100), 2)
    var stage = try Stage(policy)
    for _ in 1...8 { stage.post() }
    for number in 1...7 as ClosedRange<UInt64> { stage.delete(number) }
    stage.post()
    stage.post()
    stage.run()
    // The newest event of message 8 is older than the deletions.
    #expect(stage.marks.count == 10)
    stage.seconds = 17 + 100
    stage.run()
    #expect(stage.marks.map(\.version) == [17])
    #expect(stage.rules.counts.messages == 9)
  }

  @Test func `edits all the time do not delay a removal`() throws {
    var policy = RetentionPolicy()
    policy.bytes.usual = 3_000
    policy.readAtOnce = 2
    var stage = try Stage(policy)
    for _ in 1...8 { stage.post() }
    stage.run()
    for _ in 1...4 { stage.post() }
    stage.edit(9)
    stage.run(editing: 12)
    #expect(stage.steps.count < 1_000)
    #expect(stage.rules.counts.messages > 0)
  }

  @Test func `a failure ends the run, and the next one begins anew`() throws {
    var policy = RetentionPolicy()
    policy.age.usual = .seconds(1)
    var stage = try Stage(policy)
    for _ in 1...5 { stage.post() }
    stage.run(failing: true)
    #expect(stage.marks.count == 5)
    stage.run()
    #expect(stage.marks.map(\.version) == [5])
  }

  @Test func `metrics tell what is kept and what was removed`() throws {
    var policy = RetentionPolicy()
    policy.age.usual = .seconds(2)
    var stage = try Stage(policy)
    for _ in 1...5 { stage.post() }
    stage.run()
    var page = MetricsPage()
    stage.rules.report(to: &page)
    for line in [
      "holdfast_retained_messages 2", "holdfast_retained_bytes 600",
      "holdfast_retention_removed_messages_total 3",
      "holdfast_retention_removed_bytes_total 900", "holdfast_retention_failures_total 0",
      "holdfast_retention_last_removal_timestamp_seconds 5",
    ] {
      #expect(page.text.contains("\n\(line)\n"), "\(line)")
    }
  }

  /// Random posts, edits and deletions under random limits.
  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `nothing is removed before its age or its size says so`(seed: UInt64) throws {
    var generator = RandomSource(seed: seed)
    var policy = RetentionPolicy()
    policy.age.usual = [nil, .seconds(5), .seconds(40)].randomElement(using: &generator) ?? nil
    policy.bytes.usual = [nil, 900, 5_000].randomElement(using: &generator) ?? nil
    policy.removedAtOnce = Int.random(in: 1...9, using: &generator)
    policy.readAtOnce = Int.random(in: 1...9, using: &generator)
    var stage = try Stage(policy)
    var posts: UInt64 = 0
    for _ in 0..<120 {
      switch Int.random(in: 0...9, using: &generator) {
      case 0...5:
        posts += 1
        stage.post(bytes: Int.random(in: 0...300, using: &generator))
      case 6 where posts > 0: stage.edit(UInt64.random(in: 1...posts, using: &generator), bytes: 9)
      case 7 where posts > 0: stage.delete(UInt64.random(in: 1...posts, using: &generator))
      case 8: stage.seconds += Int64.random(in: 0...9, using: &generator)
      case _: check(policy.limits(of: stage.shop), &stage)
      }
    }
  }

  private func check(_ limits: RetentionLimits, _ stage: inout Stage) {
    let (before, head) = (stage.marks, stage.logs[stage.shop].head)
    stage.run()
    let (after, now) = (stage.marks, Self.time(stage.seconds))
    #expect(stage.logs[stage.shop].head == head)
    #expect(Array(before.suffix(after.count)) == after, "only a beginning is removed")
    let removed = before.prefix(before.count - after.count)
    let held = before.reduce(0) { $0 + $1.bytes }
    if let last = removed.last {
      let isOld = removed.contains { mark in mark.time.map { limits.expires($0, at: now) } ?? false
      }
      let isLarge = limits.bytes.map { held > $0 } ?? false
      #expect(isOld || isLarge, "\(last)")
      if !isLarge {
        #expect(removed.allSatisfy { $0.time.map { limits.expires($0, at: now) } ?? true })
      }
    }
    let newest = stage.logs.extents(after: nil, limit: 1).first?.newestPost ?? 0
    let rest = after.prefix { $0.version < newest }
    if let first = rest.first(where: { $0.time != nil }), let time = first.time {
      #expect(!limits.expires(time, at: now), "what is old is removed")
    }
    if let bytes = limits.bytes, !rest.isEmpty {
      #expect(after.reduce(0) { $0 + $1.bytes } <= bytes, "what is too large is removed")
    }
  }
}
