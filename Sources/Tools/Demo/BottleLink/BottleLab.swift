import HoldfastBottleChecks
import HoldfastCore
import HoldfastLinkChecks
import HoldfastTestKit

/// A bottle in the lab, and the app that fetches its drinks. The network of the lab is the radio, and
/// the server is the bottle.
actor BottleLab: LabFeature {
  nonisolated let name = "bottle"
  nonisolated let title = "Bottle"
  nonisolated let writes = "the millilitres of a drink"
  nonisolated let app = App.bottle
  nonisolated let hasOwnServer = true
  nonisolated let unaffectedBy: Set<LabDeed> = [
    .slow, .loginPage, .unavailable, .expireTokens, .loseWiFi,
  ]

  private static let pause = Duration.seconds(14)
  private static let usualDrink = 120
  private static let drinks = 30...1_000

  private let parts: LabParts
  private var bottle: Phone?
  private var isOpen = true

  init(_ parts: LabParts) { self.parts = parts }

  func prepare() async throws(DemoFailure) -> [String] {
    let directory = try BottleDirectory(parts.scratch("bottle"), program: parts.program)
    let bottle = Phone(.peripheral, arguments: directory.bottleArguments, scene: Unwatched())
    self.bottle = bottle
    try await bottle.launch()
    return directory.phoneArguments
  }

  nonisolated func trace(
    of journal: String, start: Instant, startedAt: Timestamp
  ) -> any LiveTrace {
    LiveJournalTrace(BottleFeature.self, journal: journal, start: start, startedAt: startedAt)
  }

  func work(on phone: Phone) async {
    await pour(Self.usualDrink)
    await each(Self.pause) { await pour(Self.usualDrink) }
  }

  func say(_ text: String, on phone: Phone) async {
    let amount = Int(text.filter(\.isNumber).prefix(5)) ?? Self.usualDrink
    await pour(min(max(amount, Self.drinks.lowerBound), Self.drinks.upperBound))
  }

  func open(_ isOpen: Bool) async {
    guard isOpen != self.isOpen else { return }
    self.isOpen = isOpen
    await bottle?.type(isOpen ? "back" : "gone")
  }

  func endServer(isWarned: Bool) async { await bottle?.kill() }

  func startServer() async throws(DemoFailure) {
    guard let bottle, await bottle.identifier == nil else { return }
    try await bottle.launch()
    if !isOpen { await bottle.type("gone") }
    await pour(Self.usualDrink)
  }

  func close() async { await bottle?.quit() }

  private func pour(_ amount: Int) async {
    await bottle?.type("move")
    await bottle?.type("pour \(amount)")
  }
}

/// A watcher that ignores what an app prints.
private struct Unwatched: AppWatcher {
  func launched(_ app: App) async {}
  func receive(_ line: AppLine?, from app: App) async {}
  func ended(_ app: App, _ ending: AppEnding) async {}
}
