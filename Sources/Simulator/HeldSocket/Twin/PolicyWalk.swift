import LinkCore

/// Policies that are changed number by number, valid and not, beside their second account.
struct PolicyWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  private static let presets = LinkPolicy.presets
  /// Those with numbers that the others do not have.
  private static let rich = presets.filter { $0.gate.portal != nil || $0.standby != .none }

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many changes; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    tryTable()
    tryPreset()
    var policy = one(Self.presets)
    for step in 0..<times where stray == nil {
      if happens(3) { policy = one(Self.presets + Self.rich) }
      change(&policy)
      if step == 2 { tryValues(policy) }
      tryParts(policy)
    }
    return stray
  }

  // What is tried.

  private mutating func tryTable() {
    let key = number(0...PolicySheetKey.all.count - 1)
    compare("the number of keys", PolicyKey.all.count, PolicySheetKey.all.count)
    guard key < PolicyKey.all.count else { return }
    compare("the name of key \(key)", PolicyKey.all[key].name, PolicySheetKey.all[key].name)
    compare(
      "the meaning of key \(key)", PolicyKey.all[key].meaning, PolicySheetKey.all[key].meaning)
  }

  private mutating func tryPreset() {
    compare("the presets", Self.presets.map { $0.name }, PolicyPresets.all.map { $0.name })
    let preset = one(Self.presets)
    compare("a preset by its name", LinkPolicy.preset(named: preset.name), preset)
    compare("a preset of another name", LinkPolicy.preset(named: preset.name + "s"), nil)
    compare(
      "whether \(preset.name) is one of a link", preset.holdsLink, preset.name != "health-sync")
    let (sheet, numbers) = (PolicySheet(preset), PolicyPresets.numbers(preset.name))
    for key in PolicySheetKey.all where stray == nil {
      let isRow = key.name.hasPrefix("failure.")
      let must = numbers[key.name] ?? (isRow ? "retry" : nil)
      compare("\(key.name) of \(preset.name)", sheet.read(key), must)
    }
  }

  private mutating func tryValues(_ policy: LinkPolicy) {
    let sheet = PolicySheet(policy)
    let must = PolicySheetKey.all.compactMap { key in
      sheet.value(key).map { "\(key.name)=\($0)" }
    }
    compare("the text of \(policy.name)", policy.values.map { "\($0.key)=\($0.value)" }, must)
  }

  private mutating func change(_ policy: inout LinkPolicy) {
    var sheet = PolicySheet(policy)
    let changes = (0..<one([0, 1, 1, 1, 1, 2, 3])).map { _ in change(of: sheet) }
    var problems = changes.compactMap { sheet.change($0.key, to: $0.value) }
    if problems.isEmpty { problems = PolicyProblems(sheet).list }
    let before = policy.name
    let what = { "\(before) with \(changes)" }
    do throws(PolicyError) {
      let found = try policy.setting(changes)
      compare("what is wrong with \(what())", [], problems)
      compareParts(of: found, sheet, what)
      policy = found
    } catch {
      compare("what is wrong with \(what())", error.problems, problems)
    }
  }

  mutating func compareParts(
    of policy: LinkPolicy, _ sheet: PolicySheet, _ what: () -> String
  ) {
    compare("the name of \(what())", policy.name, sheet.name)
    compare("the tries of \(what())", policy.retry, sheet.retry)
    compare("the gate of \(what())", policy.gate, sheet.gate)
    compare("the signs of life of \(what())", policy.liveness, sheet.liveness)
    compare("the beginning of \(what())", policy.establish, sheet.establish)
    compare("the standby of \(what())", policy.standby, sheet.standby)
    compare("the verdicts of \(what())", policy.verdicts, sheet.verdicts)
    compare("whether \(what()) is one of a link", policy.holdsLink, sheet.holdsLink)
  }

  /// Parts that no text says, taken together.
  private mutating func tryParts(_ policy: LinkPolicy) {
    var sheet = PolicySheet(policy)
    for _ in 0..<number(0...2) { spoil(&sheet) }
    if happens(2) { spoilStandby(&sheet) }
    var full = sheet
    if happens(3) { sheet.verdicts = sheet.verdicts.filter { $0.value != .retry } }
    // Rows that are not named mean a retry.
    for row in FailureClass.allCases where full.verdicts[row] == nil { full.verdicts[row] = .retry }
    let problems = PolicyProblems(full).list
    do throws(PolicyError) {
      let made = try sheet.made()
      compare("what is wrong with \(sheet)", [], problems)
      compareParts(of: made, full) { "\(sheet)" }
    } catch {
      compare("what is wrong with \(sheet)", error.problems, problems)
      let text = "invalid policy:" + problems.reduce("") { $0 + "\n  - " + $1 }
      compare("the text of an error", error.description, text)
    }
  }
}

// Values.
extension PolicyWalk {
  private static let durations = [
    "0s", "1ns", "99ms", "100ms", "999ms", "1s", "2s", "5s", "15s", "60s", "90s", "24h", "10000h",
    "10001h", "x", "", "5",
  ]
  private static let schedules = [
    "none", "0s", "99ms", "100ms", "0s,99ms", "0s,100ms", "1s,0s", "1s*2 max 30s +-0.25 min 1s x20",
    "1s*2 max 999ms +-0.0 min 0s x1", "100ms*1 max 1s +-0.0 min 0s xunlimited",
    "99ms*2 max 1s +-0.0 min 0s x1", "99ms*2 max 1s +-0.5 min 100ms x1",
    "200ms*2 max 1s +-0.5 min 0s x1", "199ms*2 max 1s +-0.5 min 0s x1",
    "1s*2 max 3s +-1.0 min 2s x1", "1s*2 max 3s +-1.0 min 1999ms x1",
    "1s*0 max 3s +-0.0 min 1s x1", "1s*2 max 3s +-0.0 min 1s x0", "2s*2 max 2s +-0.0 min 3s x1",
    "2s*2 max 2s +-0.0 min 2s x1000", "1s*2 max 3s +-0.0 min 1s x1001", "1s*2",
  ]
  private static let words: [String: [String]] = [
    "retry.windows": [
      "10/1m", "4/1s,10/1m", "0/1s", "1000/500s", "1000/499s", "1001/1h", "1/0s", "1/24h",
      "1/86401s", "2/1s", "3/1s", "3/1s,1/1s", "10/1m,", "", "1/2/3", "/", "x/1s", "1/x",
      "1/1s,1/1s,1/1s,1/1s,1/1s,1/1s,1/1s,1/1s,1/1s,1/1s",
      "1/1s,1/1s,1/1s,1/1s,1/1s,1/1s,1/1s,1/1s,1/1s,1/1s,1/1s",
    ],
    "retry.breaker": [
      "off", "off", "off", "1000/24h:1s", "20/10m:5m", "0/1s:1s", "1/0s:1s", "1/1s:0s",
      "1000/24h:1s", "1001/1s:1s", "1/1s",
      "1/1s:1s:1s", "1/25h:1s", "x",
    ],
    "gate.background": [
      "stay", "0s hold", "5s standby", "5s idle", "1s idle now", "hold", "x idle", "5s nope",
    ],
    "liveness.idle": ["off", "999ms idle", "1s idle", "15m standby", "1s", "1s nope", "x idle"],
    "standby.jitter": ["0", "0.1", "0.5", "0.6", "1", "1.1", "-0.1", "x", "0.25"],
    "gate.networkChange": NetworkChangeRule.allCases.map { $0.rawValue } + ["odd"],
    "establish.milestone": EstablishPolicy.Milestone.allCases.map { $0.rawValue } + ["odd"],
  ]

  /// All keys but those of verdicts, which are many and alike.
  private static let numbers = PolicySheetKey.all.dropLast(FailureClass.allCases.count).map { $0 }
  /// The keys whose values have a form of their own.
  private static let own = PolicySheetKey.all.filter { key in
    if case .own = key.place { true } else { false }
  }

  /// A key, and a text: one of its own, one that another preset has, or one of any kind.
  private mutating func change(of sheet: PolicySheet) -> (key: String, value: String) {
    let all = PolicySheetKey.all
    let key = happens(9) ? one(all) : one(happens(3) ? Self.own : Self.numbers)
    if happens(30) { return ("retry.odd", "1s") }
    if happens(3), let text = PolicySheet(one(Self.presets)).read(key) { return (key.name, text) }
    if let words = Self.words[key.name] { return (key.name, one(words)) }
    switch key.place {
    case .count:
      return (key.name, one(["0", "1", "3", "10", "11", "100", "101", "1001", "-1", "x"]))
    case .flag: return (key.name, one(["true", "false", "yes"]))
    case .schedule: return (key.name, one(Self.schedules))
    case .verdict:
      return (key.name, one(Verdict.allCases.map { $0.rawValue } + ["retried"]))
    case .duration, .optional, .poll, .queue, .own:
      return (key.name, one(Self.durations + ["off", "wait", "off"]))
    }
  }

  private static let edges: [Duration] = [
    .nanoseconds(-1), .zero, .nanoseconds(1), .nanoseconds(99_999_999), .milliseconds(100),
    .nanoseconds(999_999_999), .seconds(1), .seconds(2), .seconds(9),
  ]

  private mutating func spoil(_ sheet: inout PolicySheet) {
    let edge = one(Self.edges)
    switch one(happens(9) ? PolicySheetKey.all : Self.numbers).place {
    case .duration(let place): sheet[keyPath: place] = edge
    case .optional(let place): sheet[keyPath: place] = happens(5) ? nil : edge
    case .poll(let place): sheet.poll?[keyPath: place] = edge
    case .queue(let place): sheet.queue?[keyPath: place] = edge
    case .count(let place): sheet[keyPath: place] = one([-1, 0, 1, 10, 11, 100, 101])
    case .flag: sheet.standby = .none
    case .schedule(let place): sheet[keyPath: place] = schedule()
    case .verdict(let row): sheet.verdicts[row] = one(Verdict.allCases)
    case .own: spoilOwn(&sheet, edge)
    }
  }

  private mutating func spoilOwn(_ sheet: inout PolicySheet, _ edge: Duration) {
    let count = one([-1, 0, 1, 2, 1_000, 1_001])
    switch number(0...6) {
    case 0: sheet.gate.background = .leave(after: edge, then: one([.hold, .standby, .idle]))
    case 1: sheet.gate.foreground = .connect(after: edge)
    case 2: sheet.gate.portal = PortalPolicy(probe: happens(3) ? nil : edge, wait: one(Self.edges))
    case 3:
      sheet.liveness.idle = happens(2) ? nil : IdleRule(after: edge, then: one([.idle, .standby]))
    case 4:
      sheet.retry.windows = (0..<number(0...2)).map { _ in
        AttemptWindow(attempts: one([count, 1]), per: one([edge, .seconds(500)]))
      }
    case 5:
      sheet.retry.breaker = Breaker(failures: count, within: edge, pause: one([edge, .seconds(1)]))
    case _: sheet.poll?.jitter = one([-0.1, 0, 0.5, 0.51])
    }
  }

  /// Another standby, with at most one number that is at the edge of what may be.
  private mutating func spoilStandby(_ sheet: inout PolicySheet) {
    if happens(2) {
      var poll = PollPolicy(
        interval: .seconds(1), jitter: one([0, 0.5, 0.51, -0.1]), probe: .seconds(2),
        slowProbe: .seconds(2))
      let place: WritableKeyPath<PollPolicy, Duration> = one([
        \.interval, \.probe, \.slowProbe,
      ])
      poll[keyPath: place] = one(Self.edges)
      sheet.standby = .poll(poll)
    } else {
      let (rearm, fast) = one([(1, 1), (1, 2), (2, 1)])
      var queue = QueuePolicy(
        rearm: .seconds(rearm), fastFailure: .seconds(fast), floor: .seconds(3),
        background: .seconds(3))
      let place: WritableKeyPath<QueuePolicy, Duration> = one([
        \.rearm, \.fastFailure, \.floor, \.background,
      ])
      queue[keyPath: place] = one(Self.edges)
      sheet.standby = .queuedConnect(queue)
    }
  }

  private mutating func schedule() -> Schedule {
    if happens(5) { return .list(Array(repeating: .seconds(1), count: number(999...1_001))) }
    if happens(3) { return .list([one(Self.edges), one(Self.edges)]) }
    return .exponential(
      first: one(Self.edges), factor: number(-1...2), cap: one(Self.edges),
      jitter: one([-0.1, 0, 0, 0.5, 1, 1.1]), floor: one(Self.edges),
      attempts: one([nil, -1, 0, 1, 2]))
  }
}
