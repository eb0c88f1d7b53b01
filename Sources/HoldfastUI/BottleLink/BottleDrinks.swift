public import Foundation
public import Holdfast
public import HoldfastBottleData
public import HoldfastBottleLink
public import HoldfastFeaturePorts
public import Observation

/// A bottle and its drinks, for the screens of an app.
///
///     BottleCard(links.bottle())
///
/// The card follows the model. A view of the app's own calls `follow()` in a `.task`.
///
/// All screens share one model. The model receives updates as long as it exists, so it is complete
/// when a `.task` restarts.
@MainActor @Observable public final class BottleDrinks: SharedModel {
  /// The drinks, oldest first.
  public internal(set) var drinks: [DrinkRow] = []
  /// The most recent state that the bottle reported.
  public internal(set) var state: BottleState?
  /// The status of the link, with the cause of its next step.
  public internal(set) var status = BottleStatus()
  /// The time at which the next attempt begins; `nil` if none is scheduled.
  public internal(set) var retryAt: Date?
  /// The most recent problem that did not end the link.
  public internal(set) var notice: BottleNotice?

  /// Whether the drinks are open.
  public var phase: OpeningPhase { opening.phase }

  let opening: Opening<OpenBottle>
  @ObservationIgnored private let dates: Dates
  @ObservationIgnored private let feed = Feed()
  @ObservationIgnored private let refreshes = Answers<BottleRefreshResult>()
  @ObservationIgnored private let requests = Answers<BottleRequestResult>()

  init(_ opening: Opening<OpenBottle>, _ dates: Dates) {
    (self.opening, self.dates) = (opening, dates)
    opening.resources.onForeground = { [weak self] in self?.reconnectIfExhausted() }
    opening.onOpen = { [weak self] in self?.drinks = $0.drinks.map { DrinkRow($0) } }
  }

  /// Starts updating the model. Returns when the task is cancelled or the bottle is closed.
  ///
  /// Cancelling the task does not stop the updates, so the model is complete when a screen follows
  /// it again.
  public func follow() async {
    guard let bottle = await opening.lasting()?.bottle else { return }
    await feed.follow(updates(of: bottle))
  }

  /// Returns a closure that processes updates until the bottle is closed.
  ///
  /// The closure retains the bottle, but not the model.
  private func updates(of bottle: HeldBottle) -> @MainActor () async -> Void {
    { [weak self] in
      for await update in bottle.lastingUpdates { self?.take(update, bottle) }
      self?.end()
    }
  }

  /// Opens the drinks again after they could not be opened.
  public func retry() { opening.retry() }

  /// Connects immediately and fetches drinks. Returns the result, or `nil` if the bottle was closed
  /// first or cannot be opened. `drinks` then contains the fetched drinks.
  @discardableResult public func refresh() async -> BottleRefreshResult? {
    guard let bottle = try? await opening.opened().bottle else { return nil }
    feed.start(updates(of: bottle))
    let number = bottle.refresh()
    return await refreshes.answer(to: number)
  }

  /// Performs a request on the bottle. Returns the result, or `nil` if the bottle was closed first
  /// or cannot be opened.
  @discardableResult public func perform(_ request: BottleRequest) async -> BottleRequestResult? {
    guard let bottle = try? await opening.opened().bottle else { return nil }
    feed.start(updates(of: bottle))
    let number = bottle.perform(request)
    return await requests.answer(to: number)
  }

  /// Reports whether the app is in the foreground. It is for platforms without a lifecycle monitor.
  ///
  /// In the foreground, a link that gave up after its last attempt connects again.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    opening.whenOpen { $0.bottle.setLifecycle(lifecycle) }
    if lifecycle == .foreground { reconnectIfExhausted() }
  }

  /// Connects again after a failure.
  public func reconnect() { opening.whenOpen { $0.bottle.reconnect() } }

  private func reconnectIfExhausted() {
    if status.isFinal, case .exhausted = status.reason { reconnect() }
  }

  /// Ends the connection and closes the store.
  ///
  /// On the next request, `HoldfastLinks` creates a new model.
  public func close() async {
    await opening.close { [self] in
      await $0.bottle.close()
      end()
    }
    end()
    await feed.finish()
  }

  func clear() { (drinks, state, notice) = ([], nil, nil) }

  private func end() {
    refreshes.end()
    requests.end()
  }

  private func take(_ update: BottleUpdate, _ bottle: HeldBottle) {
    switch update {
    case .status(let latest): show(latest)
    case .drink(let drink):
      put(DrinkRow(drink))
      bottle.markShown(through: drink.number)
    case .bottle(let latest): state = latest
    case .refreshed(let number, let result): refreshes.give(result, to: number)
    case .performed(let number, let result): requests.give(result, to: number)
    case .notice(let latest): notice = latest
    case .calibration: return
    }
  }

  /// Shows a status, with the time of the next attempt.
  func show(_ latest: BottleStatus) {
    (status, retryAt) = (latest, latest.retryAt.map(dates.date))
  }

  private func put(_ row: DrinkRow) {
    if let index = drinks.lastIndex(where: { $0.id == row.id }) {
      drinks[index] = row
    } else {
      drinks.append(row)
    }
  }
}

/// One drink, as a row of a list.
public struct DrinkRow: Sendable, Hashable, Identifiable {
  /// The stored drink.
  public var drink: BottleDrink
  /// The number of the drink in the store.
  public var id: UInt64 { drink.number }
  /// The amount, in milliliters.
  public var millilitres: Int { Int(drink.record.amount) }
  /// The time of the drink, or the time at which it was stored if the bottle's clock was not set.
  public var date: Date { drink.date }

  /// Creates the row of a drink.
  public init(_ drink: BottleDrink) { self.drink = drink }
}

/// A bottle whose drinks were read.
struct OpenBottle: Sendable {
  let bottle: HeldBottle
  /// The newest drinks, oldest first.
  let drinks: [BottleDrink]

  /// The number of drinks that are loaded at first.
  private static let page = 200

  init(_ configuration: BottleLinkConfiguration, _ store: any DrinkStore) async throws {
    bottle = try await HeldBottle(configuration)
    do {
      drinks = try await store.drinks(before: nil, limit: Self.page)
    } catch {
      await bottle.close()
      throw error
    }
  }
}

extension HoldfastLinks {
  /// Returns the model of the person's bottle. All screens share the model until it is closed.
  ///
  /// While the model is open, the argument of further calls has no effect. A call that creates the
  /// model also sets `parts.radio` to it, so that wakes in this run use it. The next launch knows
  /// only what it sets in `parts`.
  ///
  /// - Parameter radio: The radio that finds the bottle and connects to it. Only this model may use
  ///   it. The default is the radio of `parts`.
  public func bottle(_ radio: (any Central)? = nil) -> BottleDrinks {
    shared("bottle") { resources in
      parts.radio = radio ?? parts.radio
      return BottleDrinks(
        opening(resources) { (links, resources) in
          guard let radio = radio ?? links.parts.radio else {
            throw OpenError.configuration("there is no radio; pass one, or set `parts.radio`")
          }
          let store = resources.keep(
            try await HoldfastPlatform.drinkStore(in: links.folder(.bottle)))
          var configuration = BottleLinkConfiguration(radio: radio, storage: .store(store))
          configuration.ports = links.ports
          return try await OpenBottle(configuration, store)
        }, Dates(clock: ports.clock))
    }
  }
}
