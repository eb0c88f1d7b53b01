// A stand-in that differs from the headers: in an optional type, and in a method that they lack.
import Foundation

open class CBPeripheral: NSObject {
  public var name: String { "" }
  public func setNotify(_ enabled: Bool) {}
  @_spi(Script) public func script() {}
}
