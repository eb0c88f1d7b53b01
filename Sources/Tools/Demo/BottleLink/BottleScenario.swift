import HoldfastBottleChecks
import HoldfastCore
import HoldfastLinkChecks
import HoldfastTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A scenario in which drinks are poured while the bottle is out of reach and the app is in the
/// background.
///
/// The bottle and the app are then killed while drinks are being synced.
struct BottleDrinks: DemoScenario {
  let name = "bottle"
  let needsTraffic = false
  let title = "A bottle wakes, and each drink is stored once"
  let troubles = [Trouble.bottleAsleep, .bottleKilled]
  let link: DemoLink? = DemoLink(.bottle, "Bottle", BottleFeature.self)

  /// The numbers of drinks that are poured while the app is open, while the bottle is far from the
  /// phone, and before the kill.
  private static let (open, away, last) = (1, 40, 12)

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    let directory = try BottleDirectory(environment)
    let bottle = directory.bottle(on: environment)
    let phone = directory.phone(on: environment)
    try await meet(bottle, phone, on: environment)
    try await sleep(bottle, phone, on: environment)
    try await kill(bottle, phone, directory, on: environment)
    await phone.quit()
    let poured = Self.open + Self.away + Self.last
    let counts = DrinkCounts(
      poured: poured, stored: try await directory.stored(),
      shown: await environment.scene.facts.drinks)
    if counts.section.isClean {
      environment.say(.phone, "has stored \(poured) drinks, each once, and shown each once")
    }
    environment.ledger.sections.append(counts.section)
    await bottle.quit()
  }

  /// Makes the phone find the bottle while the app is open.
  private func meet(
    _ bottle: Phone, _ phone: Phone, on environment: isolated DemoEnvironment
  ) async throws(DemoFailure) {
    try await bottle.launch()
    try await phone.launch()
    await bottle.type("move")
    await bottle.type("pour 250")
    try await environment.wait { $0[.bottle].ending != nil || $0.shownDrinks == Self.open }
    environment.say(.phone, "finds a bottle that somebody takes, and has the first drink")
  }

  /// Pours drinks while the bottle is far from the phone and the app is in the background.
  private func sleep(
    _ bottle: Phone, _ phone: Phone, on environment: isolated DemoEnvironment
  ) async throws(DemoFailure) {
    await phone.signal(SIGUSR1)
    try await environment.wait { $0[.bottle].ending != nil || !$0[.bottle].status.isConnected }
    environment.say(.phone, "is put away: the connection ends, and a connect stays queued")
    await bottle.kill()
    try await bottle.launch()
    environment.say(.bottle, "starts again, and sleeps")
    try await environment.play(
      .bottleAsleep, of: .bottle, lasting: .zero, recovered: "has them all, in the background,"
    ) { environment throws(DemoFailure) in
      await bottle.type("gone")
      try await pour(Self.away, after: Self.open, from: bottle, on: environment)
      environment.say(.bottle, "wakes out of reach, and records \(Self.away) drinks")
    } end: { _ throws(DemoFailure) in
      await bottle.type("back")
      return { $0.shownDrinks == Self.open + Self.away }
    }
  }

  /// Kills both ends after drinks have been stored and before they are acknowledged.
  private func kill(
    _ bottle: Phone, _ phone: Phone, _ directory: BottleDirectory,
    on environment: isolated DemoEnvironment
  ) async throws(DemoFailure) {
    let before = Self.open + Self.away
    // A bottle that leaves before the last acknowledgement sends all drinks again, the known ones first.
    try await environment.wait { $0[.bottle].ending != nil || $0.unsynced == 0 }
    await bottle.type("gone")
    try await pour(Self.last, after: before, from: bottle, on: environment)
    await bottle.type("deaf")
    await bottle.type("back")
    try await environment.wait { $0[.bottle].ending != nil || $0.shownDrinks > before }
    try await directory.noted(on: environment)
    try await environment.play(
      .bottleKilled, of: .bottle, lasting: .zero, recovered: "has the rest"
    ) { environment throws(DemoFailure) in
      await phone.kill()
      await bottle.kill()
      let count = await environment.scene.facts.shownDrinks - before
      environment.say(
        .phone,
        "and bottle die, as by kill -9, with \(count) of \(Self.last) drinks stored and none"
          + " acknowledged")
    } end: { _ throws(DemoFailure) in
      try await bottle.launch()
      try await phone.launch()
      await bottle.type("move")
      return { $0.shownDrinks == before + Self.last }
    }
  }

  /// Pours drinks. Returns once the bottle has recorded them.
  private func pour(
    _ count: Int, after before: Int, from bottle: Phone, on environment: isolated DemoEnvironment
  ) async throws(DemoFailure) {
    await bottle.type("move")
    for _ in 0..<count { await bottle.type("pour 40") }
    try await environment.wait { $0[.peripheral].ending != nil || $0.records == before + count }
  }
}

extension Trouble {
  /// A fault in which the bottle sleeps while the app is in the background.
  ///
  /// The time limit counts from the bottle's return. The phone searches for the bottle every
  /// quarter of a second, and a queued connect that broke is repeated after 1 s.
  static let bottleAsleep = Trouble("bottleAsleep", "bottle asleep") { _, work in
    .init(noticed: nil, whole: .seconds(2) + work)
  }

  /// A fault that kills the phone and the bottle while drinks are being transferred.
  static let bottleKilled = Trouble("bottleKilled", "phone, bottle killed") { _, work in
    .init(noticed: nil, whole: .seconds(2) + work)
  }
}

extension Scene.Facts {
  /// The number of different drinks that all runs of the app have shown.
  fileprivate var shownDrinks: Int { Set(drinks.joined()).count }
}

/// Counts of drinks, by their outcome.
struct DrinkCounts: Sendable, Hashable {
  /// The number of drinks that the bottle recorded. Their IDs begin at 1.
  var poured: Int
  /// The number of drinks that are stored exactly once.
  var stored = 0
  /// The number of drinks that are not stored.
  var lost = 0
  /// The number of drinks that are stored or shown more than once, over all runs of the app.
  var repeated = 0
  /// The number of drinks that are stored but were not shown.
  var hidden = 0

  /// Counts the IDs in the store and the IDs that the runs of the app have shown.
  init(poured: Int, stored ids: [Int], shown: [[Int]]) {
    self.poured = poured
    let shown = Array(shown.joined())
    for id in 0..<poured {
      let times = ids.count { $0 == id + 1 }
      let views = shown.count { $0 == id + 1 }
      stored += times == 1 ? 1 : 0
      lost += times == 0 ? 1 : 0
      hidden += times > 0 && views == 0 ? 1 : 0
      repeated += times > 1 || views > 1 ? 1 : 0
    }
  }

  /// The ledger's section about drinks.
  var section: LedgerSection {
    LedgerSection(
      "drinks",
      [
        .init("poured", poured, isGood: poured > 0),
        .init("stored once", key: "storedOnce", stored, isGood: stored == poured),
        .init("lost", lost, isGood: lost == 0),
        .init("not shown", key: "hidden", hidden, isGood: hidden == 0, isRare: true),
        .init("twice", key: "repeated", repeated, isGood: repeated == 0),
      ])
  }
}
