// A method, an optional method, a version and a value that differ from Apple/Facts.
typedef enum OPEN_ENUM CBPeripheralState : NSInteger {
  CBPeripheralStateConnected = 3,
} CBPeripheralState;
extern NSString *const CBConnectPeripheralOptionEnableAutoReconnect IOS(16.0);
@protocol CBCentralManagerDelegate <NSObject>
@required
- (void)centralManager:(CBCentralManager *)central didConnectPeripheral:(CBPeripheral *)peripheral;
@end
@interface CBPeripheral : CBPeer
- (void)setNotify:(BOOL)enabled forCharacteristic:(CBCharacteristic *)characteristic;
@end
