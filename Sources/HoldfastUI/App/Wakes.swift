import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthRelay
public import HoldfastPorts

/// The routes from the causes of wakes to the features.
extension HoldfastLinks {
  /// The identifier of the task for which `start(wakes:)` wakes the app.
  public nonisolated static let refreshTask = "holdfast.refresh"

  /// Registers for wakes. The app is woken regularly while a feature has work for it: a sync, a
  /// paired assistant, or a bottle.
  ///
  /// A launch calls this method before it ends. The task is scheduled in each run, and each time it
  /// is due, for a random time in 1 to 2 hours: the system forgets a task that it has run.
  /// `wakeFailure` says why it could not be scheduled. A sign-out cancels it.
  ///
  /// - Parameter task: The identifier of the task. On Apple's platforms, the app's `Info.plist`
  ///   lists it.
  public func start(wakes source: any WakeSource, task: String = HoldfastLinks.refreshTask) {
    wakes = (source, task)
    source.register { [weak self] cause, wake in
      Task { @MainActor in
        guard let self else { return wake.giveBack(.later) }
        self.wake(cause, wake)
      }
    }
    scheduleWake()
  }

  /// Passes a wake to the features that it concerns, which give it back.
  ///
  /// - A push answers the questions of paired assistants.
  /// - Ended uploads of the session of `parts.uploads` and changed health data continue the sync of
  ///   health samples.
  /// - A task does both, and connects the bottle again.
  ///
  /// A model is opened if necessary. The wake is given back exactly once: at once if it concerns no
  /// feature, and at the end of its budget at the latest. After a sign-out, a feature is used again
  /// once a screen has requested its model.
  public func wake(_ cause: WakeCause, _ wake: Wake) {
    switch cause {
    case .push: pull(wake)
    case .task(let task):
      if task == wakes?.task { scheduleWake() }
      let parts = wake.divided(among: 3)
      sync(cause, parts[0])
      pull(parts[1])
      connectBottle(parts[2])
    case .uploads(let session):
      // Another session belongs to the app, or to another library.
      guard session == parts.uploads?.session else { return wake.giveBack(.done) }
      sync(cause, wake)
    case .health: sync(cause, wake)
    }
  }

  // MARK: Tasks

  /// Schedules the next wake if a feature has work for it.
  private func scheduleWake() {
    guard let wakes, signingOut == nil, usesSync || usesBottle || isPaired else { return }
    do throws(WakeFailure) {
      let after = Duration.seconds(Int.random(in: 3_600...7_200))
      try wakes.source.schedule(WakeTask(wakes.task, after: after))
      (isWakeScheduled, wakeFailure) = (true, nil)
    } catch {
      wakeFailure = error
    }
  }

  /// Schedules the first wake of this run, unless there is one, because a feature now has work.
  func scheduleFirstWake() { if !isWakeScheduled { scheduleWake() } }

  /// Cancels the next wake.
  func cancelWake() {
    if let wakes { wakes.source.cancel(wakes.task) }
    (isWakeScheduled, wakeFailure) = (false, nil)
  }

  // MARK: The bottle

  /// Opens the bottle of an earlier run, because the system may have restored its connection or may
  /// restore it later in this run.
  func resumeBottle() { if usesBottle { bottle().retry() } }

  /// Whether there was a bottle in an earlier run since the last sign-out, or there is one now.
  private var usesBottle: Bool {
    parts.radio != nil
      && (models["bottle"] != nil || FileManager.default.fileExists(atPath: folder(.bottle)))
  }

  /// Opens the bottle, which then asks the system for a connection.
  private func connectBottle(_ wake: Wake) {
    guard usesBottle, signingOut == nil else { return wake.giveBack(.done) }
    let model = bottle()
    model.retry()
    within(wake) {
      let isOpen = (try? await model.opening.opened()) != nil
      wake.giveBack(isOpen ? .done : .later)
    }
  }

  // MARK: The sync

  /// Continues the sync of an earlier run, and observes its health data before the launch ends.
  func resumeSync() {
    guard usesSync else { return }
    if let samples = parts.samples {
      let types = SampleSync.preparedTypes(in: folder(.sync))
      if !types.isEmpty { samples.prepare(types) }
    }
    // The model has the wakes of these observers once it is open.
    _ = healthSync()
  }

  /// Ends what the system does for the sync after its model was closed: uploads, and the delivery
  /// of changed health data.
  func endSync() async {
    await parts.uploads?.cancelAll()
    guard let samples = parts.samples else { return }
    // The delivery of a type ends when it is no longer one of the observed types.
    samples.prepare(SampleSync.preparedTypes(in: folder(.sync)))
    samples.prepare([])
    await samples.stop()
  }

  /// Whether this app syncs samples: its model exists, or there was one in an earlier run since the
  /// last sign-out.
  private var usesSync: Bool {
    models["sync"] != nil || FileManager.default.fileExists(atPath: folder(.sync))
  }

  private func sync(_ cause: WakeCause, _ wake: Wake) {
    guard usesSync, signingOut == nil else { return wake.giveBack(.done) }
    let model = healthSync()
    model.retry()
    within(wake) {
      guard let sync = try? await model.opening.opened() else { return wake.giveBack(.later) }
      sync.wake(cause, wake)
    }
  }

  // MARK: Questions

  private func pull(_ wake: Wake) {
    guard signingOut == nil else { return wake.giveBack(.done) }
    within(wake) { [weak self] in
      guard let pull = self?.pull() else { return wake.giveBack(.later) }
      switch pull {
      case .some(let pull): await pull.run(wake)
      case .none: wake.giveBack(.done)
      }
    }
  }

  /// Returns a pull with the token of the pairing: `.some(nil)` if there is no pairing, and `nil`
  /// if the token or the data cannot be read now.
  func pull() -> HealthPull?? {
    do {
      guard let token = try pairing.read() else { return .some(nil) }
      let storage: StorageLocation<any HealthReading> =
        if let own = parts.health { .store(own) } else { .directory(folder(.health)) }
      return .some(try HealthPull(relayConfiguration(storage), token: token))
    } catch {
      return nil
    }
  }

  /// Whether an assistant may be paired. Before the first unlock of the device, nobody knows.
  private var isPaired: Bool {
    do throws(StoreFailure) {
      return try pairing.read() != nil
    } catch {
      return true
    }
  }

  /// Registers the address for pushes with the token of the pairing, if there are both.
  ///
  /// If the token cannot be read, the address waits until the device is unlocked.
  func registerPush() {
    guard let pushAddress, signingOut == nil else { return }
    let pull = pull()
    isPushWaiting = pull == nil
    if isPushWaiting { watchLifecycle() }
    guard case .some(.some(let pull)) = pull else { return }
    userTasks.start { [weak self] in
      var failure: LinkFailure?
      do throws(LinkFailure) {
        try await pull.register(pushAddress)
      } catch {
        failure = error
      }
      if !Task.isCancelled { self?.pushFailure = failure }
    }
  }

  /// Asks the server to end all pairings, and waits at most 5 s for its answer. A pairing that the
  /// server keeps expires there.
  func endPairings() async {
    guard case .some(.some(let pull)) = pull() else { return }
    let ending = Task { _ = try? await pull.assistants(.endAll) }
    let limit = Task { [clock = ports.clock] in
      let end = clock.now.advanced(by: .seconds(5))
      if (try? await clock.wait(until: end)) != nil { ending.cancel() }
    }
    await ending.value
    limit.cancel()
  }

  // MARK: Time

  /// Runs work that gives the wake back. The work is cancelled when the budget ends, which also
  /// gives the wake back, when the system takes the time back, and by a sign-out.
  private func within(_ wake: Wake, _ work: @escaping @MainActor () async -> Void) {
    let clock = ports.clock
    let end = clock.now.advanced(by: wake.budget)
    let task = userTasks.start(work)
    let timer = Task {
      guard (try? await clock.wait(until: end)) != nil else { return }
      task.cancel()
      wake.giveBack(.later)
    }
    Task {
      await task.value
      timer.cancel()
    }
    wake.onExpiry {
      task.cancel()
      timer.cancel()
    }
  }
}
