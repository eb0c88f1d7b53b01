import HoldfastPorts

/// The parts of a device that only a running app has.
struct RunningApp {
  /// The monitor of the app's lifecycle.
  let lifecycle: any LifecycleMonitor
  /// The source of background time.
  let time: any BackgroundTime
}
