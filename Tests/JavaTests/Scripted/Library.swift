import HoldfastJNI
import HoldfastPorts
import Synchronization

/// The host, and the task that listens to it.
private let kept = Mutex<(JavaHost, Task<Void, Never>)?>(nil)

/// The native method of `Program.java`. It shows each event of the lifecycle as a notification.
@_cdecl("Java_holdfast_tests_Program_start")
public func start(
  _ environment: UnsafeMutableRawPointer, _ type: UnsafeMutableRawPointer,
  _ host: UnsafeMutableRawPointer
) {
  guard let host = try? unsafe JavaHost(environment: environment, host: host) else { return }
  let listening = Task {
    for await notice in JavaLifecycle(host).changes() {
      _ = await JavaNotifier(host).show(HostNotification(title: "\(notice.event)", body: "🫙"))
    }
  }
  kept.withLock { $0 = (host, listening) }
}
