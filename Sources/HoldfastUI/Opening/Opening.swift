import Holdfast
import HoldfastCore
import Observation

/// The feature behind a model, from the first attempt to open it until it is closed.
@MainActor @Observable final class Opening<Feature: Sendable> {
  /// A closure that opens the feature. It adds every store that it opens to the resources.
  typealias Make = @MainActor (SharedResources) async throws -> Feature

  /// The current phase.
  private(set) var phase = OpeningPhase.opening
  /// The feature, while it is open.
  @ObservationIgnored private(set) var feature: Feature?
  /// The stores of the feature.
  @ObservationIgnored let resources: SharedResources
  /// A closure that is called when the feature has been opened, before what was asked earlier.
  @ObservationIgnored var onOpen: (@MainActor (Feature) -> Void)?
  /// Whether the model shows only what it was given, and never has a feature.
  @ObservationIgnored let isPreview: Bool
  /// It is released once the feature is open, because it may refer to the owner of the model.
  @ObservationIgnored private var make: Make?
  /// Returns the task that each attempt waits for.
  @ObservationIgnored private let gate: @MainActor () -> Task<Void, Never>?
  @ObservationIgnored private var acts: [Act] = []
  @ObservationIgnored private var run: Task<Void, Never>?
  /// A request that waits for the feature to open.
  private struct Act {
    let run: @MainActor (Feature) -> Void
    /// A closure that is called in place of `run` if there will be no feature. An act without it
    /// is dropped, and does not prolong the opening.
    var orElse: (@MainActor () -> Void)?
  }

  /// Whether the model was closed, or is being closed.
  @ObservationIgnored private(set) var isClosed = false
  /// Whether a sign-out closes the model.
  @ObservationIgnored private var isDropped = false
  @ObservationIgnored private let moments = Moments()

  /// Creates a feature that `begin()` opens.
  init(
    _ resources: SharedResources, gate: @escaping @MainActor () -> Task<Void, Never>? = { nil },
    _ make: @escaping Make
  ) {
    (self.resources, self.gate, self.make) = (resources, gate, make)
    isPreview = false
  }

  /// Creates an opening for a preview. It has a phase, but never a feature.
  init(previewing phase: OpeningPhase) {
    (resources, gate, make) = (SharedResources(), { nil }, nil)
    isPreview = true
    self.phase = phase
  }

  /// Opens the feature. It is called once, when the model is complete.
  func begin() {
    guard let make, !isClosed else { return }
    let gate = gate()
    run = Task {
      await gate?.value
      await self.open(make)
    }
  }

  /// Opens the feature again if it could not be opened.
  func retry() {
    guard !isClosed, case .failed = phase else { return }
    phase = .opening
    begin()
  }

  private func open(_ make: Make) async {
    do {
      // An attempt before the sign-out would store data after it.
      guard !isDropped else { throw CancellationError() }
      let feature = try await make(resources)
      self.feature = feature
      onOpen?(feature)
      phase = .open
      self.make = nil
      for act in acts { act.run(feature) }
      acts = []
    } catch {
      await resources.closeStores()
      phase = .failed(OpenError(opening: error))
    }
    moments.changed()
  }

  /// Calls a closure with the feature: at once if it is open, or else when it is. The order of the
  /// calls is kept.
  func whenOpen(_ act: @escaping @MainActor (Feature) -> Void) {
    if let feature { return act(feature) }
    if !isClosed, make != nil { acts.append(Act(run: act)) }
  }

  /// Calls a closure with the feature as `whenOpen(_:)` does. If the model is closed while the
  /// feature is being opened, the closure is called first.
  ///
  /// - Parameter orElse: A closure that is called if the other one is not: because the model is
  ///   closed already, or is closed and its feature could not be opened.
  func keep(
    _ act: @escaping @MainActor (Feature) -> Void, orElse: @escaping @MainActor () -> Void
  ) {
    if isClosed { return orElse() }
    if let feature { return act(feature) }
    if make != nil { acts.append(Act(run: act, orElse: orElse)) }
  }

  /// Returns the feature once it is open, also after failed attempts; `nil` if it is closed or the
  /// task is cancelled.
  func lasting() async -> Feature? {
    await moments.wait { feature != nil || isClosed }
    return feature
  }

  /// Returns the feature once the current attempt has ended.
  ///
  /// - Throws: The `OpenError` of the attempt, or `CancellationError`.
  func opened() async throws -> Feature {
    await moments.wait { phase != .opening || isClosed }
    if let feature { return feature }
    if let error = phase.error { throw error }
    if isClosed { throw OpenError.closed }
    throw CancellationError()
  }

  /// The error of a wait that ended without a result, because the feature was closed or the task
  /// was cancelled.
  var endOfWait: any Error { isClosed ? OpenError.closed : CancellationError() }

  /// Begins a close that drops what was asked, because its user signs out.
  func drop() {
    (isClosed, isDropped) = (true, true)
    acts = []
    run?.cancel()
    moments.changed()
  }

  /// Closes the feature with a closure, and then its stores.
  ///
  /// An attempt to open the feature is cancelled, unless an act of `keep(_:orElse:)` waits for it.
  func close(_ end: @MainActor (Feature) async -> Void) async {
    isClosed = true
    acts.removeAll { $0.orElse == nil }
    moments.changed()
    if acts.isEmpty { run?.cancel() }
    await run?.value
    if let feature { await end(feature) }
    let left = acts
    acts = []
    for act in left { act.orElse?() }
    await resources.close()
    (feature, onOpen, make) = (nil, nil, nil)
    if phase.error == nil { phase = .failed(.closed) }
    moments.end()
  }
}

/// A model that `HoldfastLinks` shares among screens.
@MainActor protocol SharedModel: AnyObject {
  associatedtype Feature: Sendable

  var opening: Opening<Feature> { get }

  func close() async

  /// Removes what the model shows of the user. It is called after the close.
  func clear()
}

extension SharedModel {
  /// The stores of the model.
  var resources: SharedResources { opening.resources }

  /// Begins a close that drops what was asked, because its user signs out.
  func drop() { opening.drop() }

  /// Opens the feature again if a store was locked, as before the first unlock of the device.
  func retryIfLocked() {
    if let error = opening.phase.error, error.isLocked { opening.retry() }
  }
}
