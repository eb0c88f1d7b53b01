import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
public import HoldfastPorts
import HoldfastHealthRelay

/// The routes from the causes of wakes to the features.
extension HoldfastLinks {
  /// The identifier of the task for which `start(wakes:)` wakes the app.
  public nonisolated static let refreshTask = "holdfast.refresh"

  /// Registers for wakes, and schedules the next one.
  ///
  /// A launch calls this method before it ends. The task is scheduled again in each run, and each
  /// time it is due, for a random time in 1 to 2 hours: the system forgets a task that it has run.
  /// `wakeFailure` says why it could not be scheduled.
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

  private func scheduleWake() {
    guard let wakes else { return }
    do throws(WakeFailure) {
      let after = Duration.seconds(Int.random(in: 3_600...7_200))
      try wakes.source.schedule(WakeTask(wakes.task, after: after))
      wakeFailure = nil
    } catch {
      wakeFailure = error
    }
  }

  /// Passes a wake to the feature that it concerns, which gives it back.
  ///
  /// - A push answers the questions of paired assistants.
  /// - A task, ended uploads and changed health data continue the sync of health samples. Its model
  ///   is opened if necessary.
  ///
  /// The wake is given back exactly once. A wake that concerns no feature is given back at once, and
  /// one whose feature cannot be opened, at the end of its budget at the latest.
  public func wake(_ cause: WakeCause, _ wake: Wake) {
    switch cause {
    case .push: pull(wake)
    case .task(let task):
      if task == wakes?.task { scheduleWake() }
      sync(cause, wake)
    case .uploads, .health: sync(cause, wake)
    }
  }

  /// Opens the bottle, whose connection the system has restored in this launch.
  ///
  /// Without a radio in `parts`, the method has no effect.
  public func restoreBottle() {
    if parts.radio != nil { bottle().retry() }
  }

  /// Observes the health data that the last run observed, before the launch ends.
  func prepareSync() {
    guard let samples = parts.samples else { return }
    let types = SampleSync.preparedTypes(in: folder(.sync))
    if !types.isEmpty { samples.prepare(types) }
  }

  // MARK: The sync

  /// Whether this app syncs samples: it has a source or a queue of uploads, or did so in an earlier
  /// run.
  private var usesSync: Bool {
    parts.samples != nil || parts.uploads != nil
      || FileManager.default.fileExists(atPath: folder(.sync))
  }

  private func sync(_ cause: WakeCause, _ wake: Wake) {
    guard usesSync else { return wake.giveBack(.done) }
    let model = healthSync()
    model.retry()
    within(wake) {
      guard let sync = try? await model.opening.opened() else { return wake.giveBack(.later) }
      sync.wake(cause, wake)
    }
  }

  // MARK: Questions

  private func pull(_ wake: Wake) {
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
  private func pull() -> HealthPull?? {
    do {
      guard let token = try pairing.read() else { return .some(nil) }
      let storage: StorageLocation<any HealthReading> =
        if let own = parts.health { .store(own) } else { .directory(folder(.health)) }
      return .some(try HealthPull(relayConfiguration(storage), token: token))
    } catch {
      return nil
    }
  }

  /// Registers the address for pushes with the token of the pairing, if there are both.
  func registerPush() {
    guard let pushAddress, case .some(.some(let pull)) = pull() else { return }
    Task { [weak self] in
      var failure: LinkFailure?
      do throws(LinkFailure) {
        try await pull.register(pushAddress)
      } catch {
        failure = error
      }
      self?.pushFailure = failure
    }
  }

  // MARK: Time

  /// Runs work that gives the wake back. The work is cancelled when the budget ends, which also gives
  /// the wake back, or when the system takes the time back.
  private func within(_ wake: Wake, _ work: @escaping @MainActor () async -> Void) {
    let clock = ports.clock
    let end = clock.now.advanced(by: wake.budget)
    let task = Task { await work() }
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
