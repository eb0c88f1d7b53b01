// A stand-in that differs from the facts: in a label, and in a handler that is not sendable.
import Dispatch

public final class NWPathMonitor: Sendable {
  public init() {}
  public func start(on queue: DispatchQueue) {}
  public var pathUpdateHandler: (() -> Void)? {
    get { nil }
    set {}
  }
}
