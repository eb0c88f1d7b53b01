// fails: 'WKApplication' is unavailable in iOS
import WatchKit

@MainActor func state() -> WKApplicationState { WKApplication.shared().applicationState }
