#if canImport(Darwin) || canImport(BackgroundSession)
  import HoldfastFeaturePorts
  import HoldfastPorts
  import Synchronization

  /// The ends of uploads in the order in which the system reported them, and the wakes that wait until
  /// all ends were delivered.
  ///
  ///     end, end, finished ──▶ deliver, deliver, then give the wakes back
  ///
  /// The wake and the report that all events were delivered come in either order, since an app passes
  /// the wake on only after it has opened its stores. A report without a wake belongs to the next wake,
  /// unless an upload ends in between: that wake has a report of its own. The same is true if an upload
  /// begins, except for a report from before the first listener, as at a launch. Ends wait until there
  /// is a listener.
  ///
  /// A report names no wake, so two orders cannot be told from ordinary ones. No end is lost in them.
  ///
  /// - The system reports before the first listener, but no wake belongs to the report, as when the
  ///   user opens the app. Then uploads begin, and none of them ends before the next wake. That wake is
  ///   given back at once, before its ends are delivered. If the system then suspends the app, they are
  ///   delivered when it runs again.
  /// - A wake comes after its report in a process that has a listener, and uploads begin in between.
  ///   The wake waits for the next report, or for its expiry.
  final class UploadEnds: Sendable {
    /// A report that all events were delivered.
    private enum Report: Sendable {
      /// The report came before the first listener.
      case early
      case late
    }

    private enum Step: Sendable {
      case end(UploadEvent)
      case finished(Report)

      var isEnd: Bool {
        switch self {
        case .end: true
        case .finished: false
        }
      }
    }

    private struct State {
      var deliver: (@Sendable (UploadEvent) async -> Void)?
      var isStopped = false
      var steps: [Step] = []
      /// Whether a task delivers the steps.
      var isDelivering = false
      /// The file whose end is being delivered.
      var current: String?
      var wakes: [Wake] = []
      /// The report for the held wakes or, without one, for the next wake.
      var report: Report?
      var hasBegun = false
      /// The calls of `stop` that wait for the delivery in progress.
      var stopping: [CheckedContinuation<Void, Never>] = []

      /// The files whose ends nobody has received yet.
      var waiting: Set<String> {
        var files: Set<String> = []
        for case .end(let event) in steps { files.insert(event.file) }
        return files
      }
    }

    private let state = Mutex(State())

    /// The files whose ends nobody has received yet.
    var waiting: Set<String> { state.withLock(\.waiting) }

    /// The files whose ends were not delivered completely.
    var unfinished: Set<String> {
      state.withLock { $0.waiting.union([$0.current].compactMap(\.self)) }
    }

    func put(_ event: UploadEvent) { put(.end(event)) }

    /// Records that the system has reported all ends of its wake.
    func finish() {
      // A wake that a stop has given back waits for nothing.
      let report = state.withLock { state -> Report? in
        guard !state.isStopped else { return nil }
        return state.hasBegun ? .late : .early
      }
      if let report { put(.finished(report)) }
    }

    /// Records that uploads begin. The next wake is for their ends, which have a report of their own.
    func expectMore() {
      state.withLock { state in
        guard state.wakes.isEmpty else { return }
        if state.report == .late { state.report = nil }
        state.steps.removeAll {
          if case .finished(.late) = $0 { true } else { false }
        }
      }
    }

    /// Keeps a wake until all ends were delivered, or until its time expires.
    func put(_ wake: Wake) {
      let isStopped = state.withLock { state in
        if !state.isStopped { state.wakes.append(wake) }
        return state.isStopped
      }
      guard !isStopped else { return wake.giveBack(.later) }
      wake.onExpiry { [weak wake] in wake?.giveBack(.later) }
      giveBackIfDone()
    }

    func begin(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) {
      state.withLock { ($0.deliver, $0.isStopped, $0.hasBegun) = (deliver, false, true) }
      deliverAll()
      giveBackIfDone()
    }

    /// Ends the delivery. Returns when nothing is being delivered any more. Ends that come later wait
    /// for the next listener.
    func stop() async {
      let wakes = state.withLock { state in
        (state.deliver, state.isStopped, state.report) = (nil, true, nil)
        state.steps.removeAll { !$0.isEnd }
        defer { state.wakes = [] }
        return state.wakes
      }
      for wake in wakes { wake.giveBack(.later) }
      await withCheckedContinuation { done in
        let isFree = state.withLock { state in
          if state.isDelivering { state.stopping.append(done) }
          return !state.isDelivering
        }
        if isFree { done.resume() }
      }
    }

    /// Drops the ends that nobody has received yet.
    func dropWaiting() { state.withLock { $0.steps.removeAll(where: \.isEnd) } }

    private func put(_ step: Step) {
      state.withLock { $0.steps.append(step) }
      deliverAll()
    }

    private func deliverAll() {
      let isFree = state.withLock { state in
        guard !state.isDelivering, state.deliver != nil, !state.steps.isEmpty else { return false }
        state.isDelivering = true
        return true
      }
      guard isFree else { return }
      Task {
        while let (event, deliver) = next() {
          await deliver(event)
          state.withLock { $0.current = nil }
        }
        giveBackIfDone()
      }
    }

    /// Takes the next end; `nil` if none is left or nobody listens.
    private func next() -> (UploadEvent, @Sendable (UploadEvent) async -> Void)? {
      let (found, stopped) = state.withLock { state in
        while let deliver = state.deliver, !state.steps.isEmpty {
          switch state.steps.removeFirst() {
          case .end(let event):
            if state.wakes.isEmpty { state.report = nil }
            state.current = event.file
            return (Optional((event, deliver)), [CheckedContinuation<Void, Never>]())
          case .finished(let report): state.report = report
          }
        }
        state.isDelivering = false
        defer { state.stopping = [] }
        return (nil, state.stopping)
      }
      for call in stopped { call.resume() }
      return found
    }

    private func giveBackIfDone() {
      let wakes = state.withLock { state in
        guard state.report != nil, !state.wakes.isEmpty, state.deliver != nil, state.steps.isEmpty,
          !state.isDelivering
        else { return [Wake]() }
        defer { (state.wakes, state.report) = ([], nil) }
        return state.wakes
      }
      for wake in wakes { wake.giveBack(.done) }
    }
  }
#endif
