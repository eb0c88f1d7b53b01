import CHoldfastJNI
import HoldfastCore
import HoldfastPorts
import Synchronization

/// The native methods of the Java class `HoldfastEvents`.
///
/// They are registered by the host and not found by their names, so a method that Java and Swift
/// declare differently is an error at the start, and a program that contains this code needs to export
/// nothing. Each method finds its host in a table, and does nothing if the host has ended.
enum HostEvents {
  private typealias Environment = UnsafeMutablePointer<HJNIEnvironment>
  private typealias Network =
    @convention(c) (Environment, HJNIObject, Int64, HJNIObject, HJNIObject?, Int32) -> UInt8
  private typealias Lifecycle =
    @convention(c) (Environment, HJNIObject, Int64, HJNIObject, HJNIObject?) -> UInt8
  private typealias WakeUp =
    @convention(c) (Environment, HJNIObject, Int64, HJNIObject, HJNIObject?, Int64, HJNIObject?) ->
    Int64
  private typealias Expire = @convention(c) (Environment, HJNIObject, Int64, Int64) -> Void
  private typealias Close = @convention(c) (Environment, HJNIObject, Int64) -> Void

  static var natives: [HJNINative] {
    unsafe [
      native(
        "network", "(JLjava/lang/String;Ljava/lang/String;I)Z",
        unsafeBitCast(network, to: UnsafeMutableRawPointer.self)),
      native(
        "lifecycle", "(JLjava/lang/String;Ljava/lang/Runnable;)Z",
        unsafeBitCast(lifecycle, to: UnsafeMutableRawPointer.self)),
      native(
        "wake",
        "(JLjava/lang/String;Ljava/lang/String;JLholdfast/HoldfastEvents$WakeEnd;)J",
        unsafeBitCast(wake, to: UnsafeMutableRawPointer.self)),
      native("expire", "(JJ)V", unsafeBitCast(expire, to: UnsafeMutableRawPointer.self)),
      native("close", "(J)V", unsafeBitCast(close, to: UnsafeMutableRawPointer.self)),
    ]
  }

  private static func native(
    _ name: StaticString, _ signature: StaticString, _ function: UnsafeMutableRawPointer
  ) -> HJNINative {
    unsafe HJNINative(
      name: UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
      signature: UnsafeRawPointer(signature.utf8Start).assumingMemoryBound(to: CChar.self),
      function: function)
  }

  private static var network: Network {
    { environment, _, handle, kind, path, traits in
      guard let host = Handles.host(handle) else { return 0 }
      let thread = unsafe JavaThread(environment)
      let path = unsafe path.map { unsafe thread.text(JavaObject($0)) } ?? ""
      let reachability: Reachability
      switch thread.text(unsafe JavaObject(kind)) {
      case "REACHABLE":
        let traits = PathTraits(rawValue: UInt8(truncatingIfNeeded: traits))
        reachability = .reachable(path: PathID(path), traits: traits)
      case "CAPTIVE_PORTAL": reachability = .captivePortal
      case _: reachability = .unreachable
      }
      host.report(reachability)
      return 1
    }
  }

  private static var lifecycle: Lifecycle {
    { environment, _, handle, event, giveBack in
      let thread = unsafe JavaThread(environment)
      guard let host = Handles.host(handle),
        let event = LifecycleEvent(java: thread.text(unsafe JavaObject(event)))
      else { return 0 }
      let giveBack = unsafe giveBack.map { unsafe JavaObject($0) }
      return host.report(event, giveBack, in: thread) ? 1 : 0
    }
  }

  private static var wake: WakeUp {
    { environment, _, handle, cause, detail, budget, end in
      let thread = unsafe JavaThread(environment)
      let detail = unsafe detail.map { unsafe thread.text(JavaObject($0)) } ?? ""
      guard let host = Handles.host(handle), let end = unsafe end,
        let cause = WakeCause(java: thread.text(unsafe JavaObject(cause)), detail)
      else { return 0 }
      return host.wake(
        for: cause, budget: .milliseconds(budget), end: unsafe JavaObject(end), in: thread)
    }
  }

  private static var expire: Expire {
    { _, _, handle, wake in Handles.host(handle)?.expire(wake) }
  }

  private static var close: Close { { _, _, handle in Handles.host(handle)?.close() } }
}

extension JavaHost {
  fileprivate func report(_ reachability: Reachability) {
    send(reachability) { state in
      guard state.host != nil, state.reachability != reachability else { return [:] }
      state.reachability = reachability
      return state.paths
    }
  }

  /// Returns false if the time could not be taken, so that Java gives it back itself.
  fileprivate func report(
    _ event: LifecycleEvent, _ giveBack: JavaObject?, in thread: JavaThread
  ) -> Bool {
    var notice = LifecycleNotice(event)
    if let giveBack {
      guard let grant = try? grant(giveBack, in: thread) else { return false }
      notice.grant = grant
    }
    send(notice) { state in
      guard state.host != nil, state.take(event) else { return [:] }
      return state.listeners
    }
    return true
  }

  /// Returns a grant that runs a `Runnable` when it is given back.
  private func grant(
    _ giveBack: JavaObject, in thread: JavaThread
  ) throws(JavaFailure) -> TimeGrant {
    let run = try thread.method("run", "()V", of: thread.type(of: giveBack))
    let global = try JavaGlobal(giveBack, in: thread)
    return TimeGrant { [note] in
      do throws(JavaFailure) {
        try global.use { thread, object throws(JavaFailure) in try thread.call(run, of: object) }
      } catch {
        note("The host failed when its time was given back: \(error)")
      }
    }
  }

  /// Passes a wake to the handler, or keeps it until there is one.
  ///
  /// - Returns: The number of the wake; 0 if Java must end it itself.
  fileprivate func wake(
    for cause: WakeCause, budget: Duration, end: JavaObject, in thread: JavaThread
  ) -> Int64 {
    guard let ended = try? thread.method("ended", "(Z)V", of: thread.type(of: end)),
      let global = try? JavaGlobal(end, in: thread)
    else { return 0 }
    let number = state.withLock { $0.number() }
    let wake = Wake(budget: budget) { [weak self, note] result in
      _ = self?.state.withLock { $0.wakes.removeValue(forKey: number) }
      do throws(JavaFailure) {
        try global.use { thread, object throws(JavaFailure) in
          try thread.call(ended, of: object, [.bool(result == .done)])
        }
      } catch {
        note("The host failed at the end of a wake: \(error)")
      }
    }
    let handler = state.withLock { state -> (@Sendable (WakeCause, Wake) -> Void)? in
      // A host that was closed meanwhile drops the wake, which ends it.
      guard state.host != nil else { return nil }
      state.wakes[number] = JavaState.Running(wake: wake)
      if state.handler == nil { state.early.append((cause, wake)) }
      return state.handler
    }
    handler?(cause, wake)
    return number
  }

  fileprivate func expire(_ wake: Int64) { state.withLock { $0.wakes[wake] }?.expire() }
}

extension LifecycleEvent {
  /// Creates an event from the name of its constant in Java; `nil` if there is none.
  fileprivate init?(java name: String) {
    switch name {
    case "FOREGROUND": self = .foreground
    case "BACKGROUND": self = .background
    case "WILL_SLEEP": self = .willSleep
    case "DID_WAKE": self = .didWake
    case "AGAIN": self = .again
    case "TERMINATE": self = .terminate
    case "UNLOCKED": self = .protectedData(available: true)
    case "LOCKED": self = .protectedData(available: false)
    case "LOW_POWER_ON": self = .lowPower(true)
    case "LOW_POWER_OFF": self = .lowPower(false)
    case _: return nil
    }
  }
}

extension WakeCause {
  /// Creates a cause from the name of its constant in Java; `nil` if there is none.
  fileprivate init?(java name: String, _ detail: String) {
    switch name {
    case "TASK": self = .task(detail)
    case "PUSH": self = .push
    case "HEALTH": self = .health(types: detail.split(separator: "\n").map(String.init))
    case "UPLOADS": self = .uploads(session: detail)
    case _: return nil
    }
  }
}
