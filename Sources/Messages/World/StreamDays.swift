import HoldfastCore
import HoldfastLinkChecks
public import HoldfastMessageChecks
public import HoldfastWorldKernel

extension StreamFeature {
  public static func draw(_ preset: DayPreset, _ builder: inout PlanBuilder<StreamFeature>) {
    switch preset {
    case .lift: builder.lift()
    case .train: builder.train()
    case .cafe: builder.cafe()
    case .aeroplane: builder.aeroplane()
    case .captivePortal: builder.captivePortal()
    case .deploy: builder.deploy()
    case .swarm: builder.swarm()
    }
    builder.aside {
      $0.changes()
      $0.images()
      $0.otherNodes()
    }
  }
}

extension PlannedEvent<StreamEventKind> {
  /// Returns an event that invalidates all tokens.
  ///
  /// - Parameter refresh: The outcome of the next token refresh.
  static func revokeTokens(_ refresh: TokenRefresh) -> PlannedEvent {
    PlannedEvent(.revokeTokens, 0, refresh.rawValue)
  }
}

extension PlanBuilder<StreamFeature> {
  /// Adds the activity of an ordinary day: others post, and the user posts, scrolls and refreshes.
  mutating func life(others: ClosedRange<Int>, sends: ClosedRange<Int>) {
    scatter(draw.count(others)) {
      PlannedEvent(.others, $0.happens(0.1) ? $0.count(10...40) : $0.count(1...5))
    }
    scatter(draw.count(sends)) { _ in PlannedEvent(.send) }
    scatter(draw.count(0...3)) {
      $0.one(
        PlannedEvent(.loadOlder), PlannedEvent(.loadOlder), PlannedEvent(.pullToRefresh),
        PlannedEvent(.retryFailed))
    }
  }

  fileprivate mutating func lift() {
    life(others: 8...16, sends: 3...6)
    scatter(draw.count(8...20)) { PlannedEvent(.unreachable, for: $0.seconds(3, 45)) }
    scatter(draw.count(2...6)) {
      $0.one(
        PlannedEvent(.halfOpen), PlannedEvent(.reset), PlannedEvent(.handover),
        PlannedEvent(.blackHole, for: $0.seconds(2, 60)))
    }
    scatter(draw.count(0...2)) { PlannedEvent(.suspend, for: $0.seconds(10, 200)) }
  }

  fileprivate mutating func train() {
    networkConditions.delay = draw.seconds(0.04, 0.15)
    networkConditions.jitter = draw.seconds(0.05, 0.4)
    networkConditions.loss = draw.one(0, 0.01, 0.03)
    networkConditions.slow = draw.one(0, 0.02, 0.05)
    numbers.ping = draw.one(.seconds(54), .seconds(54), .seconds(75))
    life(others: 8...16, sends: 3...8)
    scatter(draw.count(5...10)) { _ in PlannedEvent(.handover) }
    scatter(draw.count(3...8)) { PlannedEvent(.unreachable, for: $0.seconds(5, 240)) }
    scatter(draw.count(2...6)) { PlannedEvent(.blackHole, for: $0.seconds(3, 180)) }
    scatter(draw.count(1...3)) {
      PlannedEvent(.narrow, $0.count(300...8000), for: $0.seconds(20, 300))
    }
    scatter(draw.count(1...4)) { $0.one(PlannedEvent(.mappingExpired), PlannedEvent(.halfOpen)) }
    scatter(draw.count(0...2)) {
      $0.one(
        PlannedEvent(.suspend, for: $0.seconds(10, 600)),
        PlannedEvent(.kill, for: $0.seconds(0, 60)))
    }
  }

  fileprivate mutating func cafe() {
    add(
      .portal(draw.seconds(20, 400), draw.happens(0.5)),
      at: draw.seconds(5, 60))
    networkConditions.delay = draw.seconds(0.05, 0.3)
    networkConditions.jitter = draw.seconds(0.1, 1.5)
    networkConditions.loss = draw.one(0.02, 0.05, 0.1)
    networkConditions.slow = draw.one(0.02, 0.1)
    networkConditions.twice = draw.one(0, 0.05)
    networkConditions.bandwidth = draw.one(0, 20_000, 5_000)
    life(others: 10...20, sends: 4...8)
    scatter(draw.count(3...8)) {
      $0.one(
        PlannedEvent(.suspend, for: $0.seconds(10, 900)),
        PlannedEvent(.background, for: $0.seconds(2, 300)),
        PlannedEvent(.leaveScreen, for: $0.seconds(2, 200)))
    }
    scatter(draw.count(1...4)) {
      $0.one(PlannedEvent(.reset), PlannedEvent(.halfOpen), PlannedEvent(.mappingExpired))
    }
    scatter(draw.count(0...2)) { PlannedEvent(.kill, for: $0.seconds(0, 100)) }
    scatter(draw.count(0...2)) {
      $0.one(
        PlannedEvent(.slowReader, for: $0.seconds(5, 200)), .dialsFail(.dns, $0.seconds(2, 60)))
    }
  }

  fileprivate mutating func aeroplane() {
    length = draw.seconds(7200, 21_600)
    numbers.tokenLife = draw.one(.seconds(1800), .seconds(3600))
    let start = draw.seconds(300, 1200)
    let flight = length - start - .seconds(600)
    add(PlannedEvent(.unreachable, for: flight), at: start)
    let rest = start + .seconds(120)
    if draw.happens(0.7) { add(PlannedEvent(.sleep, for: flight / 2), at: rest) }
    if draw.happens(0.3) { add(PlannedEvent(.kill, for: flight / 4), at: start + flight / 2) }
    life(others: 20...35, sends: 4...8)
    scatter(draw.count(0...3)) { PlannedEvent(.others, $0.count(60...150)) }
    scatter(draw.count(1...3)) { PlannedEvent(.suspend, for: $0.seconds(60, 1800)) }
    if draw.happens(0.3) { add(PlannedEvent(.deploy, for: draw.seconds(5, 60)), at: rest) }
  }

  fileprivate mutating func captivePortal() {
    numbers.tokenLife = draw.one(.seconds(300), .seconds(900), .seconds(1800))
    life(others: 10...18, sends: 3...7)
    scatter(draw.count(4...9)) {
      .portal($0.seconds(10, 500), $0.happens(0.5))
    }
    scatter(draw.count(1...4)) {
      $0.one(PlannedEvent(.handover), PlannedEvent(.unreachable, for: $0.seconds(3, 60)))
    }
    scatter(draw.count(0...3)) { PlannedEvent(.suspend, for: $0.seconds(10, 300)) }
    scatter(draw.count(0...2)) { .revokeTokens($0.one(.works, .works, .fails, .hangs)) }
    scatter(draw.count(0...2)) {
      .dialsFail($0.one(.dns, .proxy, .certificate), $0.seconds(5, 120))
    }
  }

  fileprivate mutating func deploy() {
    numbers.tokenLife = draw.one(.seconds(600), .seconds(1800))
    life(others: 12...20, sends: 4...8)
    scatter(draw.count(3...7)) {
      $0.one(
        PlannedEvent(.deploy, for: $0.seconds(1, 60)), PlannedEvent(.crash, for: $0.seconds(1, 120))
      )
    }
    scatter(draw.count(2...5)) {
      $0.one(
        PlannedEvent(.close, $0.one(1001, 1011, 1012, 1013)),
        PlannedEvent(.dieAfterNextPost, for: $0.seconds(1, 40)),
        PlannedEvent(.slowStore, by: $0.seconds(0.2, 12), for: $0.seconds(10, 120)))
    }
    scatter(draw.count(1...4)) {
      $0.one(
        PlannedEvent(.restStatus, $0.one(500, 502, 503, 429), for: $0.seconds(5, 200)),
        PlannedEvent(.upgradeStatus, $0.one(503, 502, 404, 500, 429), for: $0.seconds(5, 300)))
    }
    scatter(draw.count(0...2)) { PlannedEvent(.trim, $0.count(0...50)) }
    if draw.happens(0.4) { scatter(1) { PlannedEvent(.beginAnew, $0.count(0...80)) } }
    if draw.happens(0.3) { scatter(1) { .revokeTokens($0.one(.works, .fails)) } }
    scatter(draw.count(0...2)) { PlannedEvent(.suspend, for: $0.seconds(10, 300)) }
  }
}

// The swarm: a plan that is determined by its seed alone.
extension PlanBuilder<StreamFeature> {
  mutating func swarm() {
    // In a few runs, the client is away for so long that it fetches only the newest page.
    let isLong = draw.happens(0.08)
    length = isLong ? draw.seconds(9000, 14_400) : draw.seconds(3600, 4500)
    drawConditions()
    life(others: 8...18, sends: 2...8)
    if isLong { add(longAbsence(), at: draw.seconds(60, 1800)) }
    if swarm(Self.troubles, times: 12...30), draw.happens(0.15) { once() }
    aside {
      $0.oddities()
      $0.lateArrivals()
    }
  }

  /// In half of the runs, adds faults that occur only with some servers and networks.
  private mutating func oddities() {
    guard draw.happens(0.5) else { return }
    numbers.drainWindow = draw.one(.seconds(10), .seconds(60), .seconds(300), .seconds(900))
    numbers.pageCap = draw.one(0, 0, 0, 1, 7, 30)
    swarm(Self.oddTroubles, times: 3...12)
    guard draw.happens(0.4) else { return }
    let time = draw.seconds(5, Double(length.components.seconds))
    add(
      draw.one(
        PlannedEvent(.beginAlike, draw.count(1...40)), PlannedEvent(.putBack, draw.count(20...60))),
      at: time)
    // There is no network until the server has restarted. The socket is therefore the first to
    // report the change.
    if draw.happens(0.5) {
      add(PlannedEvent(.unreachable, for: .seconds(10)), at: time - .seconds(1))
    }
  }

  /// In three of four plans, messages are edited and deleted, too. A few phones do not ask for
  /// events.
  fileprivate mutating func changes() {
    guard draw.happens(0.75) else { return }
    scatter(draw.count(2...8)) {
      PlannedEvent(.chat, $0.happens(0.2) ? $0.count(20...60) : $0.count(1...12))
    }
    scatter(draw.count(0...4)) {
      $0.one(PlannedEvent(.edit, $0.count(1...8)), PlannedEvent(.delete, $0.count(1...8)))
    }
    scatter(draw.count(0...5)) {
      PlannedEvent(.change, 0, $0.happens(0.7) ? "edit" : "delete")
    }
    if draw.happens(0.15) { numbers.wantsEvents = 0 }
  }

  /// In half of the plans, other nodes write the same log.
  fileprivate mutating func otherNodes() {
    let share = draw.one(0, 0, 0, 0.2, 0.6, 1)
    if server == .positions { numbers.elsewhere = share }
  }

  /// In a third of the plans, the user sends images, too. In a few, an image expires before its
  /// message is sent.
  fileprivate mutating func images() {
    guard draw.happens(0.35) else { return }
    scatter(draw.count(1...5)) { _ in PlannedEvent(.sendImage) }
    scatter(draw.count(0...4)) {
      $0.one(
        PlannedEvent(.cutNextImage), PlannedEvent(.cutNextImage),
        PlannedEvent(.dieAfterNextImage, for: $0.seconds(1, 60)),
        PlannedEvent(.dieBeforeNextImagePost, for: $0.seconds(1, 60)),
        PlannedEvent(.imagesElsewhere, $0.count(1...16), for: $0.seconds(10, 600)))
    }
    guard draw.happens(0.08) else { return }
    let time = draw.seconds(60, 1800)
    add(
      PlannedEvent(.dieBeforeNextImagePost, for: draw.seconds(86_500, 93_000)), at: time)
    add(PlannedEvent(.sendImage), at: time + .seconds(5))
    length = .seconds(100_000)
  }

  /// In some plans with late stamps, sorts pages by arrival.
  ///
  /// The order of the pages then differs from the order in which the phone stores their messages.
  private mutating func lateArrivals() {
    if draw.happens(0.25), server == .plain, numbers.lateStamps > 0 { numbers.pages = .arrival }
  }

  private static var oddTroubles: [Trouble<StreamEventKind>] {
    [.busy, .down, .waver, .edit, .serverStore, .rivals, .falseHead, .shortBacklog]
  }

  private mutating func drawConditions() {
    networkConditions.delay = draw.seconds(0.005, 0.2)
    networkConditions.jitter = draw.seconds(0.001, 0.5)
    networkConditions.bandwidth = draw.one(0, 0, 0, 50_000, 10_000)
    networkConditions.loss = draw.one(0, 0, 0, 0.01, 0.05, 0.1)
    networkConditions.twice = draw.one(0, 0, 0.05, 0.2)
    networkConditions.slow = draw.one(0, 0, 0.02, 0.1, 0.5)
    networkConditions.timeLimit = draw.one(.seconds(9), .seconds(9), .seconds(60))
    numbers.ping = draw.one(.seconds(54), .seconds(54), .seconds(30), .seconds(80))
    numbers.tokenLife = draw.one(.seconds(3600), .seconds(1800), .seconds(600), .seconds(120))
    numbers.lateStamps = draw.one(0, 0.05, 0.2)
    numbers.equalStamps = draw.one(0, 0.1, 0.5)
    // `lateArrivals` draws late stamps together with pages sorted by arrival.
    let pages: PageOrder = draw.one(.stamp, .arrival)
    if numbers.lateStamps == 0 { numbers.pages = pages }
    numbers.history = draw.one(60, 60, 0, 3, 130, 260)
    numbers.historyPage = draw.one(50, 50, 10, 3, 20)
    numbers.catchUpPage = draw.one(100, 100, 20, 5, 50)
    numbers.memory = draw.one(1000, 1000, 200, 60)
    networkConditions.wallDrift = draw.one(0, 0, 1e-5, -1e-5, 1e-4)
  }

  /// The faults that are drawn together. Seeds depend on their order.
  private static var troubles: [Trouble<StreamEventKind>] {
    [
      .burst, .background, .suspend, .sleep, .leave, .kill, .cut, .hole, .unreachable, .handover,
      .portal, .narrow, .down, .trim, .status, .deadlyPost, .slowStore, .tokens, .member, .frames,
      .close, .store, .wall, .scroll, .reader, .dials, .flap,
    ]
  }

  private mutating func longAbsence() -> Made {
    let span = draw.seconds(4000, 7000)
    return draw.one(
      PlannedEvent(.suspend, for: span), PlannedEvent(.sleep, for: span),
      PlannedEvent(.kill, for: span),
      PlannedEvent(.unreachable, for: span))
  }

  /// Changes a clock or the epoch once. A second change would hide the effects of the first.
  private mutating func once() {
    let time = draw.seconds(5, Double(length.components.seconds))
    switch draw.count(0...3) {
    case 0: add(PlannedEvent(.beginAnew, draw.count(0...150)), at: time)
    case 1: add(PlannedEvent(.wallClock, by: draw.seconds(-7200, 7200)), at: time)
    case _:
      let back: Double = draw.happens(0.5) ? -3600 : -60
      add(PlannedEvent(.serverClock, by: draw.seconds(back, 3600)), at: time)
    }
  }
}

extension Trouble<StreamEventKind> {
  fileprivate static var burst: Trouble { Trouble { PlannedEvent(.others, $0.count(20...120)) } }
  fileprivate static var edit: Trouble { Trouble { PlannedEvent(.edit, $0.count(1...30)) } }
  fileprivate static var serverStore: Trouble {
    Trouble {
      $0.one(
        PlannedEvent(.storeFull, for: $0.seconds(1, 120), at: .backend),
        PlannedEvent(.storeLocked, for: $0.seconds(1, 120), at: .backend))
    }
  }
  fileprivate static var rivals: Trouble {
    Trouble { PlannedEvent(.rivals, $0.count(1...6), for: $0.seconds(10, 300)) }
  }
  fileprivate static var falseHead: Trouble {
    Trouble { PlannedEvent(.falseHead, $0.count(-60...60), for: $0.seconds(10, 300)) }
  }
  fileprivate static var shortBacklog: Trouble {
    Trouble { PlannedEvent(.shortBacklog, for: $0.seconds(10, 300)) }
  }
  fileprivate static var leave: Trouble {
    Trouble {
      $0.one(
        PlannedEvent(.leaveScreen, for: $0.seconds(0.1, 200)),
        PlannedEvent(.realtimeOff, for: $0.seconds(0.1, 200)))
    }
  }
  fileprivate static var trim: Trouble { Trouble { PlannedEvent(.trim, $0.count(0...100)) } }
  fileprivate static var deadlyPost: Trouble {
    Trouble { PlannedEvent(.dieAfterNextPost, for: $0.seconds(0.5, 60)) }
  }
  fileprivate static var tokens: Trouble {
    Trouble { .revokeTokens($0.one(.works, .works, .fails, .isRefused, .hangs)) }
  }
  fileprivate static var member: Trouble {
    Trouble { PlannedEvent(.removeMember, for: $0.seconds(1, 200)) }
  }
  fileprivate static var frames: Trouble {
    Trouble {
      $0.one(PlannedEvent(.oversizedFrame), PlannedEvent(.malformedFrames, $0.count(1...6)))
    }
  }
  fileprivate static var scroll: Trouble {
    Trouble {
      $0.one(PlannedEvent(.loadOlder), PlannedEvent(.pullToRefresh), PlannedEvent(.retryFailed))
    }
  }
  fileprivate static var reader: Trouble {
    Trouble { PlannedEvent(.slowReader, for: $0.seconds(1, 300)) }
  }
}
