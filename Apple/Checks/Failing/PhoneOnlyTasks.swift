// fails on macos: 'BGTaskScheduler' is unavailable in macOS
// fails on watchos: 'BGTaskScheduler' is unavailable in watchOS
import BackgroundTasks

func schedule() { BGTaskScheduler.shared.cancelAllTaskRequests() }
