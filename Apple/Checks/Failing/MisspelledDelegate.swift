// fails: nearly matches optional requirement
import CoreBluetooth

final class Central: NSObject, CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {}
  func centralManager(_ central: CBCentralManager, didConect peripheral: CBPeripheral) {}
}
