// SPDX-License-Identifier: GPL-2.0
/* Module entry: the platform devices, their driver, and the wires between neighbours. */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "solar_rdma.h"

static struct platform_device *devices[SOLAR_MAX_PORTS];
static DEFINE_MUTEX(wires_lock);

/* Each port is wired when the second of a pair is bound, and cut when the first of them goes. */
static void wire(struct platform_device *pdev)
{
	struct platform_device *other;

	mutex_lock(&wires_lock);
	other = devices[pdev->id ^ 1];
	if (other && platform_get_drvdata(other))
		solar_ports_join(platform_get_drvdata(pdev), platform_get_drvdata(other));
	mutex_unlock(&wires_lock);
}

static int solar_probe(struct platform_device *pdev)
{
	int err = solar_netdev_create(pdev);

	if (err)
		return err;
	solar_debugfs_create(platform_get_drvdata(pdev));
	wire(pdev);
	return 0;
}

static int solar_remove(struct platform_device *pdev)
{
	struct solar_port *port = platform_get_drvdata(pdev);

	mutex_lock(&wires_lock);
	solar_ports_join(port, NULL);
	platform_set_drvdata(pdev, NULL);
	mutex_unlock(&wires_lock);
	solar_debugfs_destroy(port);
	solar_netdev_destroy(port);
	return 0;
}

static struct platform_driver solar_driver = {
	.probe = solar_probe,
	.remove = solar_remove,
	.driver = {
		.name = SOLAR_NAME,
		.dev_groups = solar_device_groups,
	},
};

static void devices_remove(void)
{
	unsigned int i;

	for (i = 0; i < SOLAR_MAX_PORTS; i++) {
		if (devices[i])
			platform_device_unregister(devices[i]);
		devices[i] = NULL;
	}
}

static int devices_create(void)
{
	unsigned int i;

	for (i = 0; i < 2 * solar_pairs; i++) {
		struct platform_device *pdev =
			platform_device_register_simple(SOLAR_NAME, i, NULL, 0);

		if (IS_ERR(pdev))
			return PTR_ERR(pdev);
		devices[i] = pdev;
		if (!platform_get_drvdata(pdev))
			return -ENODEV; /* the probe failed and has said why */
	}
	return 0;
}

static int __init solar_init(void)
{
	int err;

	if (solar_pairs < 1 || solar_pairs > SOLAR_MAX_PAIRS ||
	    solar_tcam_entries > SOLAR_MAX_TCAM) {
		pr_notice("%s: pairs takes 1..%d, tcam_entries 0..%d\n", SOLAR_NAME,
			  SOLAR_MAX_PAIRS, SOLAR_MAX_TCAM);
		return -EINVAL;
	}
	err = solar_sysctl_register();
	if (err)
		return err;
	err = ib_register_client(&solar_qp_client);
	if (err)
		goto no_client;
	solar_debugfs_root_create();
	err = platform_driver_register(&solar_driver);
	if (err)
		goto no_driver;
	err = devices_create();
	if (err)
		goto no_devices;
	return 0;

no_devices:
	devices_remove();
	platform_driver_unregister(&solar_driver);
no_driver:
	solar_debugfs_root_destroy();
	ib_unregister_client(&solar_qp_client);
no_client:
	solar_sysctl_unregister();
	return err;
}

static void __exit solar_exit(void)
{
	devices_remove();
	platform_driver_unregister(&solar_driver);
	ib_unregister_client(&solar_qp_client);
	solar_debugfs_root_destroy();
	solar_sysctl_unregister();
}

module_init(solar_init);
module_exit(solar_exit);

MODULE_DESCRIPTION("Test NIC: wired port pairs with RDMA NIC management interfaces");
MODULE_AUTHOR("Stellar developers");
MODULE_LICENSE("GPL");
