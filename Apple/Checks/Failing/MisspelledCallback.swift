// fails: nearly matches optional requirement
import CoreBluetooth

final class Listener: NSObject, CBPeripheralDelegate {
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationState characteristic: CBCharacteristic,
    error: (any Error)?
  ) {}
}
