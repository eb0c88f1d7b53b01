// A stand-in whose method is isolated, although Apple's may be called from any thread, and whose string
// has no version, although it is newer than the manifest's.
public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
}

@MainActor open class UIApplication {
  public func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
  public nonisolated static let openDefaultApplicationsSettingsURLString = ""
}
